import type { InstanceResource } from '@gwk/core/resources/manifest';
import { z } from 'zod';
import { invalidError } from '../cluster/local/api-status.js';
import { listCauses, type Desired } from '../cluster/local/desired.js';
import type { Store } from '../cluster/local/store.js';

const Patch = z.looseObject({
  metadata: z
    .looseObject({
      resourceVersion: z.string().optional(),
      uid: z.string().optional(),
      labels: z.record(z.string(), z.string().nullable()).nullish(),
      annotations: z.record(z.string(), z.string().nullable()).nullish(),
      finalizers: z.array(z.string()).nullish(),
    })
    .optional(),
  spec: z.record(z.string(), z.unknown()).optional(),
});

interface Place {
  namespace: string;
  name: string;
}

/** Merge patch (RFC 7396) of the user's fields and the finalizers. @throws ApiStatus */
export async function applyMergePatch(
  store: Store,
  place: Place,
  body: Record<string, unknown>,
  query: URLSearchParams,
): Promise<{ code: number; body: InstanceResource }> {
  const result = Patch.safeParse(body);
  if (!result.success) throw invalidError(place.name, listCauses(result.error));
  const { metadata = {}, spec } = result.data;
  const { resourceVersion, uid, finalizers } = metadata;
  const expected = {
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(uid !== undefined && { uid }),
  };
  const manager = query.get('fieldManager') ?? 'unknown';
  const resource = await store.update(
    { ...place, ...expected },
    manager,
    ({ labels, annotations, spec: before }) => ({
      labels: merge(labels, metadata.labels ?? {}) as Desired['labels'],
      annotations: merge(annotations, metadata.annotations ?? {}) as Desired['annotations'],
      spec: merge(before, spec ?? {}) as Desired['spec'],
    }),
  );
  const key = `${place.namespace}/${place.name}`;
  if (finalizers !== undefined)
    await store.setFinalizers({ key, uid: resource.metadata.uid }, finalizers ?? []);
  return { code: 200, body: store.get(key)?.resource ?? resource };
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

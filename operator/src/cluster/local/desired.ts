import { canonicalJson } from '@gwk/core/canonical-json';
import {
  InstanceManifest,
  InstanceSpec,
  MANIFEST_API_VERSION,
  type InstanceResource,
} from '@gwk/core/resources/manifest';
import type { z } from 'zod';
import { ApiStatus, invalidError, type Cause } from './api-status.js';

/** The part of a resource that users write. Fields are as given, without defaults. */
export interface Desired {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  spec: Record<string, unknown>;
}

export interface NamedDesired {
  namespace: string;
  name: string;
  desired: Desired;
  /** Set by writers that must not overwrite changes they have not seen. */
  resourceVersion?: string;
  uid?: string;
}

/** @throws ApiStatus */
export function readManifest(body: unknown): NamedDesired {
  const result = InstanceManifest.safeParse(body);
  const name = readName(body);
  if (!result.success) throw invalidError(name, listCauses(result.error));
  const { metadata } = result.data;
  const { namespace, labels = {}, annotations = {}, resourceVersion, uid } = metadata;
  return {
    namespace,
    name: metadata.name,
    desired: { labels, annotations, spec: (body as { spec: Record<string, unknown> }).spec },
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(uid !== undefined && { uid }),
  };
}

function readName(body: unknown): string {
  const name = (body as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  return typeof name === 'string' ? name : '';
}

/** @throws ApiStatus */
export function parseSpec(name: string, desired: Desired): InstanceSpec {
  const result = InstanceSpec.safeParse(desired.spec);
  if (!result.success) throw invalidError(name, listCauses(result.error, 'spec'));
  return result.data;
}

const IMMUTABLE = ['account', 'kind'] as const;

/** @throws ApiStatus if an immutable field changes */
export function checkImmutableFields(name: string, before: InstanceSpec, after: InstanceSpec): void {
  const causes = IMMUTABLE.filter((field) => before[field] !== after[field]).map((field) => ({
    reason: 'FieldValueForbidden',
    message: 'cannot change; delete the instance and create another',
    field: `spec.${field}`,
  }));
  if (causes.length > 0) throw invalidError(name, causes);
}

export function isSameDesired(a: Desired, b: Desired): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Builds the manifest for a file. */
export function buildManifest({ namespace, name }: InstanceResource['metadata'], desired: Desired): object {
  const { labels, annotations, spec } = desired;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      name,
      ...(namespace !== 'default' && { namespace }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec,
  };
}

export function listCauses(error: z.ZodError, ...root: string[]): Cause[] {
  return error.issues.flatMap((issue) => {
    const path = [...root, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => cause('FieldValueForbidden', 'unknown field', [...path, key]));
    }
    return [cause('FieldValueInvalid', issue.message, path)];
  });
}

function cause(reason: string, message: string, path: PropertyKey[]): Cause {
  return { reason, message, field: path.map(String).join('.') || '<root>' };
}

export function badRequestError(message: string): ApiStatus {
  return new ApiStatus('BadRequest', message);
}

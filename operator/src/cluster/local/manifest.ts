import { canonicalJson } from '@gwk/core/canonical-json';
import { ResourceInvalid, type Place } from '@gwk/core/desired-state/desired-state';
import type { RecordedEvent } from '@gwk/core/desired-state/operator-client';
import {
  InstanceManifest,
  InstanceSpec,
  MANIFEST_API_VERSION,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { z } from 'zod';

/** The part of a resource that users write. Fields are as given, without defaults. */
export interface Desired {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  spec: Record<string, unknown>;
}

export interface NamedDesired extends Place {
  desired: Desired;
}

/** State that the operator keeps for a manifest, with its content, which outlives the file while the engine stops. */
export interface StoredResource extends NamedDesired {
  uid: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  finalizers: string[];
  /** File that contains the manifest; null once it is removed. */
  file: string | null;
  status?: InstanceResourceStatus;
  events: RecordedEvent[];
}

/** @throws ResourceInvalid */
export function readManifest(body: unknown): NamedDesired {
  const result = InstanceManifest.safeParse(body);
  if (!result.success) throw invalidError(readName(body), listFaults(result.error));
  const { namespace, name, labels = {}, annotations = {} } = result.data.metadata;
  const { spec } = body as { spec: Record<string, unknown> };
  return { namespace, name, desired: { labels, annotations, spec } };
}

function readName(body: unknown): string {
  const name = (body as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  return typeof name === 'string' ? name : '';
}

/** @throws ResourceInvalid */
export function parseSpec(name: string, { spec }: Pick<Desired, 'spec'>): InstanceSpec {
  const result = InstanceSpec.safeParse(spec);
  if (!result.success) throw invalidError(name, listFaults(result.error, 'spec'));
  return result.data;
}

const IMMUTABLE = ['account', 'kind'] as const;

/** @throws ResourceInvalid if an immutable field changes */
export function checkImmutableFields(name: string, before: InstanceSpec, after: InstanceSpec): void {
  const changed = IMMUTABLE.filter((field) => before[field] !== after[field]);
  const faults = changed.map(
    (field) => `spec.${field}: cannot change; delete the instance and create another`,
  );
  if (faults.length > 0) throw invalidError(name, faults);
}

export function isSameDesired(a: Desired, b: Desired): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Changes the fields that differ, so that a file does not receive the defaults of the others. */
export function changeSpec(
  written: Desired['spec'],
  before: InstanceSpec,
  after: InstanceSpec,
): Desired['spec'] {
  const [old, wanted] = [before, after] as unknown as [Desired['spec'], Desired['spec']];
  const spec = { ...written };
  for (const field of Object.keys({ ...old, ...wanted })) {
    if (canonicalJson(old[field]) === canonicalJson(wanted[field])) continue;
    if (wanted[field] === undefined) delete spec[field];
    else spec[field] = wanted[field];
  }
  return spec;
}

/** Builds the manifest for a file. */
export function buildManifest({ namespace, name }: Place, { labels, annotations, spec }: Desired): object {
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

export function invalidError(name: string, faults: string[]): ResourceInvalid {
  return new ResourceInvalid(`Instance.gwk.dev "${name}" is invalid: ${faults.join('; ')}`);
}

export function listFaults(error: z.ZodError, ...root: string[]): string[] {
  return error.issues.flatMap((issue) => {
    const path = [...root, ...issue.path].map(String);
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => `${[...path, key].join('.')}: unknown field`);
    return [`${path.join('.') || '<root>'}: ${issue.message}`];
  });
}

import { canonicalJson } from '@gwk/core/text/canonical-json';
import { ResourceInvalid, type NewResource } from '@gwk/core/desired-state/desired-state';
import { toFieldErrors } from '@gwk/core/problems/field-errors';
import { InstanceManifest, InstanceSpec, MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import type { z } from 'zod';

/** The part of a resource that users write, with defaults. */
export interface Manifest {
  metadata: NewResource['metadata'];
  spec: InstanceSpec;
}

/** Fields of a spec as a file contains them, without defaults. */
export type WrittenSpec = Record<string, unknown>;

/** @throws ResourceInvalid */
export function readManifest(body: unknown): Manifest {
  const result = InstanceManifest.safeParse(body);
  if (!result.success) throw invalidError(readName(body), listFaults(result.error));
  const { metadata, spec } = result.data;
  const { namespace, name, labels, annotations } = metadata;
  return { metadata: { namespace, name, labels, annotations }, spec };
}

function readName(body: unknown): string {
  const name = (body as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  return typeof name === 'string' ? name : '';
}

const IMMUTABLE = ['account', 'kind'] as const;

/** @throws ResourceInvalid if an immutable field changes */
export function checkImmutableFields(before: Manifest, after: Manifest): void {
  const changed = IMMUTABLE.filter((field) => before.spec[field] !== after.spec[field]);
  const faults = changed.map(
    (field) => `spec.${field}: cannot change; delete the instance and create another`,
  );
  if (faults.length > 0) throw invalidError(before.metadata.name, faults);
}

export function isSameManifest(a: Manifest, b: Manifest): boolean {
  const outline = ({ metadata: { labels = {}, annotations = {} }, spec }: Manifest) =>
    canonicalJson([labels, annotations, spec]);
  return outline(a) === outline(b);
}

/**
 * Builds the manifest for a file. The fields of `written` that do not differ stay as they are, so that the file does not
 * receive their defaults.
 */
export function buildManifest({ metadata, spec }: Manifest, written: WrittenSpec): object {
  const { namespace, name, labels = {}, annotations = {} } = metadata;
  const [before, after] = [InstanceSpec.parse(written) as WrittenSpec, spec as WrittenSpec];
  const merged = { ...written };
  for (const field of Object.keys({ ...before, ...after })) {
    if (after[field] === undefined) delete merged[field];
    else if (canonicalJson(before[field]) !== canonicalJson(after[field])) merged[field] = after[field];
  }
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      name,
      ...(namespace !== 'default' && { namespace }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: merged,
  };
}

export function invalidError(name: string, faults: string[]): ResourceInvalid {
  return new ResourceInvalid(`Instance.gwk.dev "${name}" is invalid: ${faults.join('; ')}`);
}

export function listFaults(error: z.ZodError): string[] {
  return toFieldErrors(error).map(({ path, message }) => `${path || '<root>'}: ${message}`);
}

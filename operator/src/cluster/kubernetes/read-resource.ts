import { InstanceResource, InstanceSpec } from '@gwk/core/resources/manifest';

export interface Reading {
  /** Null: nothing can be said of it. */
  resource: InstanceResource | null;
  /** Why it is not what is there now, in a sentence; null: it is. */
  faults: string | null;
}

/** Of a resource that is on its way out only its metadata is looked at. */
const NOBODY = InstanceSpec.parse({ account: 'unknown' });

/**
 * What this operator makes of a resource. One written for a newer operator stays as this one last understood it, but
 * it can always be deleted: whoever deletes it must not wait for an operator that understands it. A status is only
 * what an operator wrote; one that is not understood is as none, and written anew.
 */
export function readResource(raw: InstanceResource, before: InstanceResource | undefined): Reading {
  const whole = InstanceResource.safeParse(raw);
  if (whole.success) return { resource: whole.data, faults: null };
  const bare = InstanceResource.safeParse({ ...raw, status: undefined });
  if (bare.success) return { resource: bare.data, faults: null };
  const faults = bare.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  const metadata = InstanceResource.shape.metadata.safeParse(raw.metadata);
  if (!metadata.success || metadata.data.deletionTimestamp === undefined)
    return { resource: before ?? null, faults };
  const { apiVersion, kind } = raw;
  return { resource: { ...(before ?? { apiVersion, kind, spec: NOBODY }), metadata: metadata.data }, faults };
}

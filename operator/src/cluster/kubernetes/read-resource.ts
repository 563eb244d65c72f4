import { InstanceResource, InstanceSpec } from '@gwk/core/resources/manifest';

interface Reading {
  /** Null: unreadable, and no earlier version is known. */
  resource: InstanceResource | null;
  /** Why the resource is not the current one; null: it is. */
  faults: string | null;
}

/** Spec of a deleted resource that never was readable: only its metadata counts. */
const PLACEHOLDER = InstanceSpec.parse({ account: 'unknown' });

/**
 * Validates a resource. A resource written for a newer operator stays as last understood, but can always be deleted:
 * its deletion must not wait for a newer operator. Only operators write the status, so an unreadable status is
 * replaced.
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
  return {
    resource: { ...(before ?? { apiVersion, kind, spec: PLACEHOLDER }), metadata: metadata.data },
    faults,
  };
}

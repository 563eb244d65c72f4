import { toPublicId } from '@gwk/core/ids';
import {
  DesiredStateUnavailable,
  ResourceConflict,
  ResourceInvalid,
  type NewResource,
} from '@gwk/core/desired-state/desired-state';
import { Problem } from '@gwk/core/problems';
import {
  ID_LABEL,
  MANIFEST_API_VERSION,
  toResourceName,
  type InstanceResource,
  type InstanceSpec,
} from '@gwk/core/resources/manifest';
import type { InstanceCreate } from '@gwk/core/resources/instance';
import type { RejectionReason } from './validate.js';

/** Builds Instance resources as the API writes them. */
export function buildManifest(
  id: string,
  accountName: string,
  body: InstanceCreate,
  namespace: string,
): NewResource {
  const publicId = toPublicId('instance', id);
  return {
    metadata: { namespace, name: toResourceName(publicId), labels: { [ID_LABEL]: publicId } },
    spec: {
      account: accountName,
      displayName: body.name,
      kind: body.kind,
      interactiveMode: body.interactive_mode,
    },
  };
}

/** Builds the resource that a write would produce, for validation before the write. */
export function draftResource(manifest: NewResource, present: InstanceResource | null): InstanceResource {
  const spec = { ...present?.spec, ...manifest.spec } as InstanceSpec;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      uid: '',
      resourceVersion: '',
      creationTimestamp: '',
      ...present?.metadata,
      ...manifest.metadata,
      generation: (present?.metadata.generation ?? 0) + 1,
    },
    spec: { ...spec, suspended: spec.suspended ?? false },
  };
}

/** Maps the refusal of a resource to a problem. */
export function problemOfRejection(
  reason: RejectionReason,
  message: string,
  kind: InstanceSpec['kind'],
): Problem {
  switch (reason) {
    case 'NameTaken':
      return new Problem('instance-name-taken');
    case 'InstanceLimitReached':
      return new Problem(kind === 'sandbox' ? 'sandbox-limit-reached' : 'instance-limit-reached');
    case 'InvalidSpec':
      return new Problem('validation-error', { errors: [{ path: '', code: 'custom', message }] });
    case 'Deleted':
    case 'AccountNotAllowed':
      return new Problem('not-found');
  }
}

const RETRY_AFTER_SECONDS = 2;

/** Consumers may retry whatever prevented a write of the desired state. Other errors stay as they are. */
export function toWriteProblem(error: unknown): unknown {
  const kinds = [DesiredStateUnavailable, ResourceConflict, ResourceInvalid];
  if (!kinds.some((kind) => error instanceof kind)) return error;
  const problem = new Problem('engine-unavailable', { retryAfter: RETRY_AFTER_SECONDS });
  problem.cause = error;
  return problem;
}

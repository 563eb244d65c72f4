import { fromPublicId } from '@gwk/core/ids/ids';
import { parsePolicyOverrides } from '../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import type { REJECTION_REASONS } from '@gwk/core/protocol/operator';
import type { Instance } from '../generated/prisma/client.js';
import { ID_LABEL, toResourceName, type InstanceResource } from '@gwk/core/resources/manifest';
import { MAX_SANDBOXES } from '../resources/instance.js';

/** Decides about an Instance resource from the rows. */
export type KnownInstance = Pick<Instance, 'id' | 'accountId' | 'kind' | 'resourceGeneration' | 'deletedAt'>;

export interface Observed<Row extends KnownInstance = KnownInstance> {
  account: { id: string; namespaces: string[]; maxInstances: number; isSuspended: boolean } | null;
  /** Namespace in which the API creates resources: always allowed, and the only one whose id labels are trusted. */
  apiNamespace: string;
  /** Row with this uid. */
  own: Row | null;
  /** Live row with the same namespace and name and another uid. */
  namesake: Row | null;
  /** Row with the id of the label. */
  labelled: Row | null;
  /** Whether another live instance of the account (neither `own` nor `namesake`) has the display name. */
  nameTaken: boolean;
  /** Live instances of the account by kind. */
  counts: { web: number; sandbox: number };
}

export interface Rejection {
  do: 'reject';
  reason: (typeof REJECTION_REASONS)[number];
  message: string;
  id: string | null;
}

export type Verdict =
  { do: 'nothing' | 'update'; id: string } | { do: 'create'; id: string | null } | Rejection;

export function validateResource(resource: InstanceResource, seen: Observed): Verdict {
  const { own, account, apiNamespace } = seen;
  const { namespace } = resource.metadata;
  if (own?.deletedAt) return rejected('Deleted', 'the instance was deleted', own);
  // Same answer for an unknown account and for one that does not allow the namespace.
  if (!account || (namespace !== apiNamespace && !account.namespaces.includes(namespace))) {
    const message = `account "${resource.spec.account}" is not to be used from namespace "${namespace}"`;
    return rejected('AccountNotAllowed', message, own);
  }
  return own ? judgeKnown(resource, seen, own) : judgeNew(resource, seen);
}

function judgeKnown(resource: InstanceResource, seen: Observed, row: KnownInstance): Verdict {
  if (row.accountId !== seen.account!.id) return rejected('InvalidSpec', 'spec.account cannot change', row);
  if (row.kind !== resource.spec.kind) return rejected('InvalidSpec', 'spec.kind cannot change', row);
  if (BigInt(resource.metadata.generation) <= row.resourceGeneration) return { do: 'nothing', id: row.id };
  return judgeContent(resource, seen, row) ?? { do: 'update', id: row.id };
}

function judgeNew(resource: InstanceResource, seen: Observed): Verdict {
  const { namesake, labelled } = seen;
  if (namesake) {
    // A cluster restored from manifests has new uids; the instance keeps its row, session and id.
    const same = namesake.accountId === seen.account!.id && namesake.kind === resource.spec.kind;
    if (!same) return rejected('NameTaken', 'another instance still has this resource name', null);
    return judgeContent(resource, seen, namesake) ?? { do: 'update', id: namesake.id };
  }
  if (labelled) {
    if (labelled.deletedAt) return rejected('Deleted', 'the instance was deleted', labelled);
    return rejected('NameTaken', 'another instance has the id of the label', null);
  }
  if (seen.account!.isSuspended) {
    const message = `account "${resource.spec.account}" is suspended, and gets no new instance`;
    return rejected('AccountSuspended', message, null);
  }
  const refused = judgeContent(resource, seen, null) ?? judgeLimits(resource, seen);
  return refused ?? { do: 'create', id: labelledId(resource, seen.apiNamespace) };
}

function judgeContent(
  resource: InstanceResource,
  seen: Observed,
  row: KnownInstance | null,
): Rejection | null {
  try {
    parsePolicyOverrides(resource.spec.policy ?? {});
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const fields = (error.extras.errors ?? []).map((field) => `spec.${field.path}: ${field.message}`);
    const message = fields.join('; ') || error.extras.detail?.en || error.message;
    return rejected('InvalidSpec', message, row);
  }
  if (seen.nameTaken) return rejected('NameTaken', 'the account has another instance of this name', row);
  return null;
}

function judgeLimits(resource: InstanceResource, { account, counts }: Observed): Rejection | null {
  const { kind } = resource.spec;
  const limit = kind === 'sandbox' ? MAX_SANDBOXES : account!.maxInstances;
  if (counts[kind] < limit) return null;
  return rejected('InstanceLimitReached', `the account has ${limit} ${kind} instances, its limit`, null);
}

function rejected(reason: Rejection['reason'], message: string, row: KnownInstance | null): Rejection {
  return { do: 'reject', reason, message, id: row?.id ?? null };
}

/** Display name, the public field `name`. */
export function getDisplayName(resource: InstanceResource): string {
  return resource.spec.displayName ?? resource.metadata.name;
}

/**
 * Returns the id that the API chose for the resource. Trusted only in the API's namespace and if the name matches; elsewhere,
 * authors of resources could take ids of others.
 */
export function labelledId(resource: InstanceResource, apiNamespace: string): string | null {
  const { namespace, name, labels } = resource.metadata;
  const label = labels?.[ID_LABEL];
  if (label === undefined || namespace !== apiNamespace || name !== toResourceName(label)) return null;
  return fromPublicId('instance', label);
}

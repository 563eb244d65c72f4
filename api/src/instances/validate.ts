import { fromPublicId } from '@gwk/core/ids';
import { parsePolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { REJECTION_REASONS } from '@gwk/core/protocol/operator';
import { ID_LABEL, toResourceName, type InstanceResource } from '@gwk/core/resources/manifest';
import { MAX_SANDBOXES } from '@gwk/core/resources/instance';

/** What becomes of an Instance resource (design: Accounts and namespaces), decided from what the rows say. */
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export interface KnownInstance {
  id: string;
  accountId: string;
  kind: string;
  generation: bigint;
  deleted: boolean;
}

export interface Observed {
  account: { id: string; namespaces: string[]; maxInstances: number } | null;
  /** The namespace in which the API creates resources: always allowed, and the one where labelled ids are believed. */
  apiNamespace: string;
  /** The row of this uid. */
  own: KnownInstance | null;
  /** A live row of the same namespace and name under another uid. */
  namesake: KnownInstance | null;
  /** The row that has the id of the label. */
  labelled: KnownInstance | null;
  /** A live instance of the account has the display name (another one than `own` and `namesake`). */
  nameTaken: boolean;
  /** Live instances of the account, by kind. */
  counts: { web: number; sandbox: number };
}

export type Verdict =
  | { do: 'nothing' | 'update'; id: string }
  | { do: 'create'; id: string | null }
  | { do: 'reject'; reason: RejectionReason; message: string; id: string | null };

export function judgeResource(resource: InstanceResource, seen: Observed): Verdict {
  const { own, account } = seen;
  if (own?.deleted) return rejected('Deleted', 'the instance was deleted', own);
  if (!account || !namespaceAllowed(resource, seen, account)) {
    const message = `account "${resource.spec.account}" is not to be used from namespace "${resource.metadata.namespace}"`;
    return rejected('AccountNotAllowed', message, own);
  }
  return own ? judgeKnown(resource, seen, own) : judgeNew(resource, seen, account);
}

/** One answer for an account that does not exist and for one that is closed to the namespace. */
function namespaceAllowed(
  resource: InstanceResource,
  seen: Observed,
  account: NonNullable<Observed['account']>,
): boolean {
  const { namespace } = resource.metadata;
  return namespace === seen.apiNamespace || account.namespaces.includes(namespace);
}

function judgeKnown(resource: InstanceResource, seen: Observed, row: KnownInstance): Verdict {
  if (row.accountId !== seen.account!.id) return rejected('InvalidSpec', 'spec.account cannot change', row);
  if (row.kind !== resource.spec.kind) return rejected('InvalidSpec', 'spec.kind cannot change', row);
  if (BigInt(resource.metadata.generation) <= row.generation) return { do: 'nothing', id: row.id };
  return judgeContent(resource, seen, row) ?? { do: 'update', id: row.id };
}

function judgeNew(
  resource: InstanceResource,
  seen: Observed,
  account: NonNullable<Observed['account']>,
): Verdict {
  const { namesake, labelled } = seen;
  if (namesake) {
    // A cluster restored from its manifests issues new uids: the number keeps its row, its session and its id.
    const same = namesake.accountId === account.id && namesake.kind === resource.spec.kind;
    if (!same) return rejected('NameTaken', 'another instance still has this resource name', null);
    return judgeContent(resource, seen, namesake) ?? { do: 'update', id: namesake.id };
  }
  if (labelled) {
    if (labelled.deleted) return rejected('Deleted', 'the instance was deleted', labelled);
    return rejected('NameTaken', 'another instance has the id of the label', null);
  }
  const refused = judgeContent(resource, seen, null) ?? judgeLimits(resource, seen, account);
  return refused ?? { do: 'create', id: labelledId(resource, seen.apiNamespace) };
}

function judgeContent(resource: InstanceResource, seen: Observed, row: KnownInstance | null): Verdict | null {
  try {
    parsePolicyOverrides(resource.spec.policy ?? {});
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const fields = (error.extras.errors ?? []).map((field) => `spec.${field.path}: ${field.message}`);
    const message = fields.join('; ') || error.extras.detail || error.message;
    return rejected('InvalidSpec', message, row);
  }
  if (seen.nameTaken) return rejected('NameTaken', 'the account has another instance of this name', row);
  return null;
}

function judgeLimits(
  resource: InstanceResource,
  seen: Observed,
  account: NonNullable<Observed['account']>,
): Verdict | null {
  const { kind } = resource.spec;
  const limit = kind === 'sandbox' ? MAX_SANDBOXES : account.maxInstances;
  if (seen.counts[kind] < limit) return null;
  return rejected('InstanceLimitReached', `the account has ${limit} ${kind} instances, its limit`, null);
}

function rejected(reason: RejectionReason, message: string, row: KnownInstance | null): Verdict {
  return { do: 'reject', reason, message, id: row?.id ?? null };
}

/** The display name: what consumers see as `name`. */
export function displayNameOf(resource: InstanceResource): string {
  return resource.spec.displayName ?? resource.metadata.name;
}

/**
 * The id that the API chose for a resource it made. Believed only where the API makes resources and where the name
 * says the same: elsewhere whoever writes resources could claim ids.
 */
export function labelledId(resource: InstanceResource, apiNamespace: string): string | null {
  const { namespace, name, labels } = resource.metadata;
  const label = labels?.[ID_LABEL];
  if (label === undefined || namespace !== apiNamespace || name !== toResourceName(label)) return null;
  return fromPublicId('instance', label);
}

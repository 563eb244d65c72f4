import { newUuid, toPublicId, type IdKind } from '@gwk/core/ids/ids';
import type { Prisma } from '../generated/prisma/client.js';
import { nameActor, type Caller } from './caller.js';

export interface AuditedChange {
  /** `cli:<name>`, `key:<id>`, `user:<id>` (by the console), `gwk:worker`, `gwk:api`, `anyone` (a failed sign-in), `platform` (a portal), or `cluster` (a Kubernetes user, whom the cluster's audit log names). */
  actor: string;
  accountId: string | null;
  /** `instance.create`, `key.revoke`, ... */
  action: string;
  /** UUID of the changed object. */
  subject: string;
  detail?: Prisma.InputJsonObject;
}

/**
 * Audit log: who changed a key, an account, an instance or a policy. An entry is written in the transaction of the change;
 * the worker copies it to the log (jobs/audit-log.ts). Entries contain no secrets and no message content.
 */
export async function audit(
  tx: Pick<Prisma.TransactionClient, 'auditEntry'>,
  change: AuditedChange,
): Promise<void> {
  await tx.auditEntry.create({ data: { id: newUuid(), ...change, detail: change.detail ?? {} } });
}

/** A change without an API request: by kubectl, or by a request that died before its answer. */
export const CLUSTER = 'cluster';

/** A change by an API key or a member to an object of the account. */
export function byCaller(
  caller: Caller,
  action: string,
  subject: string,
  detail: Prisma.InputJsonObject = {},
): AuditedChange {
  return { actor: nameActor(caller.credential), accountId: caller.accountId, action, subject, detail };
}

/** Policy overrides for an entry, with the length of the text for callers in place of the text. */
export function describePolicy(policy: Prisma.InputJsonObject): Prisma.InputJsonObject {
  const { text, ...calls } = (policy['reject_calls'] ?? {}) as Prisma.InputJsonObject;
  if (typeof text !== 'string') return policy;
  return { ...policy, reject_calls: { ...calls, text_length: text.length } };
}

const KINDS: Record<string, IdKind> = {
  account: 'account',
  instance: 'instance',
  key: 'apiKey',
  webhook: 'endpoint',
  user: 'user',
  member: 'user',
  invitation: 'invitation',
  contact: 'contact',
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Actors that have an id. */
const ACTORS: Record<string, IdKind> = { key: 'apiKey', user: 'user' };

/** Converts the references of an entry to public ids; `account` is null for entries without one. */
export function publicNames({ accountId, actor, action, subject }: Omit<AuditedChange, 'detail'>) {
  const kind = KINDS[action.split('.')[0]!];
  return {
    account: accountId === null ? null : toPublicId('account', accountId),
    actor: nameActorPublicly(actor),
    action,
    // The policy belongs to an account or an instance; the id shows which.
    subject: kind && UUID.test(subject) ? toPublicId(kind, subject) : subject,
  };
}

function nameActorPublicly(actor: string): string {
  const [kind = '', id = ''] = actor.split(':');
  return ACTORS[kind] ? `${kind}:${toPublicId(ACTORS[kind], id)}` : actor;
}

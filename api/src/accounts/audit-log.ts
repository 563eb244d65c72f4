import { newUuid, toPublicId, type IdKind } from '@gwk/core/ids';
import type { Prisma } from '../generated/prisma/client.js';
import type { Caller } from './caller.js';

export interface AuditedChange {
  /** `cli:<name>`, `key:<id>`, `gwk:worker`, or `cluster` (a Kubernetes user, whom the cluster's audit log names). */
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

/** A change by an API key to an instance of its account. */
export function byKey(
  caller: Caller,
  action: string,
  subject: string,
  detail: Prisma.InputJsonObject = {},
): AuditedChange {
  return { actor: `key:${caller.keyId}`, accountId: caller.accountId, action, subject, detail };
}

const KINDS: Record<string, IdKind> = {
  account: 'account',
  instance: 'instance',
  key: 'apiKey',
  webhook: 'endpoint',
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const BY_KEY = 'key:';

/** Converts the references of an entry to public ids; `account` is null for entries without one. */
export function publicNames({ accountId, actor, action, subject }: Omit<AuditedChange, 'detail'>) {
  const kind = KINDS[action.split('.')[0]!];
  return {
    account: accountId === null ? null : toPublicId('account', accountId),
    actor: actor.startsWith(BY_KEY) ? BY_KEY + toPublicId('apiKey', actor.slice(BY_KEY.length)) : actor,
    action,
    // The policy belongs to an account or an instance; the id shows which.
    subject: kind && UUID.test(subject) ? toPublicId(kind, subject) : subject,
  };
}

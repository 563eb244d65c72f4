import { newUuid } from '@gwk/core/ids';
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

import { newUuid } from '@gwk/core/ids';
import type { Prisma } from '../generated/prisma/client.js';
import type { Caller } from './caller.js';

/**
 * Who changed a key, an account, an instance or a policy: written in the transaction of the change, told on the log by
 * the worker (jobs/audit.ts). Never a secret, and nothing of a message.
 */
export interface AuditedChange {
  /** `cli:<who says so>`, `key:<id>`, `gwk:worker`, or `cluster`: somebody with rights there (its own log knows who). */
  actor: string;
  accountId: string | null;
  /** `instance.create`, `key.revoke`, ... */
  action: string;
  /** The UUID of what was changed. */
  subject: string;
  detail?: Prisma.InputJsonObject;
}

export async function audit(
  tx: Pick<Prisma.TransactionClient, 'auditEntry'>,
  change: AuditedChange,
): Promise<void> {
  await tx.auditEntry.create({ data: { id: newUuid(), ...change, detail: change.detail ?? {} } });
}

/** A change of a resource that no request asked for: by kubectl, or by a request that died before it was answered. */
export const CLUSTER = 'cluster';

/** A change that an API key made to an instance of its account. */
export function byKey(
  caller: Caller,
  action: string,
  subject: string,
  detail: Prisma.InputJsonObject = {},
): AuditedChange {
  return { actor: `key:${caller.keyId}`, accountId: caller.accountId, action, subject, detail };
}

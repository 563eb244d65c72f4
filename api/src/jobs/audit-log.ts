import { publicNames } from '../accounts/audit-log.js';
import { toFields } from '../database/model-columns.js';
import type { AuditEntry, Prisma } from '../generated/prisma/client.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const AT_ONCE = 500;

/**
 * Copies the audit log to the program's log, where somebody who can write to the database cannot change it. The lines are
 * written before the commit that marks them, so none is missing; a worker that dies in between writes them again with the
 * same `audit_id`. A line has the names of the changed fields; their values are in the table only.
 */
export function auditLogJob(
  { db, log }: Pick<JobDependencies, 'db' | 'log'>,
  onReported: (entries: readonly AuditEntry[]) => void = () => undefined,
): Job {
  // Written at every log level.
  const auditLog = log.child({}, { level: 'info' });
  return {
    name: 'audit',
    everyMs: 1_000,
    async pass() {
      const reported = await db.$transaction(async (tx) => {
        const entries = toFields<AuditEntry>(
          await tx.$queryRaw`
          WITH unreported AS MATERIALIZED (
            SELECT id FROM audit_entries WHERE reported_at IS NULL ORDER BY id LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
          UPDATE audit_entries a SET reported_at = now() FROM unreported u WHERE a.id = u.id
          RETURNING a.*`,
        );
        for (const entry of entries.sort((a, b) => (a.id < b.id ? -1 : 1)))
          auditLog.info(formatEntry(entry), 'audit');
        return entries;
      });
      onReported(reported);
      const amount = reported.length;
      return { amount, more: amount === AT_ONCE };
    },
  };
}

function formatEntry({ id, createdAt, detail, ...entry }: AuditEntry) {
  return {
    audit_id: id,
    at: createdAt.toISOString(),
    ...publicNames(entry),
    changed: Object.keys(detail as Prisma.JsonObject),
  };
}

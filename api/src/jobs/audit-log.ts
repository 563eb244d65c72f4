import { publicNames } from '../accounts/audit-names.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const AT_ONCE = 500;

interface Entry {
  id: string;
  account_id: string | null;
  actor: string;
  action: string;
  subject: string;
  detail: Prisma.JsonObject;
  created_at: Date;
}

/**
 * The trail of changes on the log, whoever made them, so that a copy lies where who can write to the database cannot
 * change it. Lines are written before the commit that counts them: a worker that dies in between tells them again,
 * under the same `audit_id`; none is left out. Of the detail the names alone: values are in the table.
 */
export function auditLogJob({ db, log }: Pick<JobDependencies, 'db' | 'log'>): Job {
  // Told whatever the level is: the trail is not a remark.
  const trail = log.child({}, { level: 'info' });
  return {
    name: 'audit',
    everyMs: 1_000,
    async pass() {
      const amount = await db.$transaction(async (tx) => {
        const entries = await tx.$queryRaw<Entry[]>`
          WITH unreported AS MATERIALIZED (
            SELECT id FROM audit_entries WHERE reported_at IS NULL ORDER BY id LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
          UPDATE audit_entries a SET reported_at = now() FROM unreported u WHERE a.id = u.id
          RETURNING a.id, a.account_id, a.actor, a.action, a.subject, a.detail, a.created_at`;
        for (const entry of entries.sort((a, b) => (a.id < b.id ? -1 : 1)))
          trail.info(lineOf(entry), 'audit');
        return entries.length;
      });
      return { amount, more: amount === AT_ONCE };
    },
  };
}

function lineOf({ id, account_id, created_at, detail, ...entry }: Entry) {
  return {
    audit_id: id,
    at: created_at.toISOString(),
    ...publicNames({ ...entry, accountId: account_id }),
    changed: Object.keys(detail),
  };
}

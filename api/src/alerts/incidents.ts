import { newUuid } from '@gwk/core/ids/ids';
import type { Database } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import type { Prisma } from '../generated/prisma/client.js';
import { decideIncidents, type OpenIncident, type Trouble } from './decide.js';

const DOWN_MINUTES = 5;

/**
 * Finds incidents that begin or end, and queues their notices in the same transaction. One worker at a time.
 * @returns the number of changed incidents
 */
export function trackIncidents(db: Database, now: Date): Promise<number> {
  return db.$transaction(async (tx) => {
    const [lock] = await tx.$queryRaw<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(hashtext('gwk alert incidents')) AS mine`;
    if (!lock!.mine) return 0;
    const open = await readOpen(tx);
    const { begin, end, replace } = decideIncidents(await readTroubles(tx, now), open);
    const ended = [...end, ...replace].map(({ id }) => id);
    if (ended.length > 0)
      await tx.alertIncident.updateMany({ where: { id: { in: ended } }, data: { endedAt: now } });
    await queueEnds(tx, end, now);
    await beginIncidents(tx, begin, now);
    return begin.length + ended.length;
  });
}

/** Problems of accounts with a verified contact. The first contact receives those that began before, too. */
async function readTroubles(tx: Prisma.TransactionClient, now: Date): Promise<Trouble[]> {
  const at = now.toISOString();
  return toFields<Trouble>(
    await tx.$queryRaw`
    WITH watched AS (
      SELECT a.id FROM accounts a WHERE a.suspended_at IS NULL AND EXISTS (
        SELECT FROM alert_contacts c WHERE c.account_id = a.id AND c.verified_at IS NOT NULL)),
    instances_in_trouble AS (
      SELECT i.id, i.account_id, i.name, i.state, i.state_changed_at,
        (SELECT max(s.ended_at) FROM instance_states s WHERE s.instance_id = i.id
          AND s.state NOT IN ('connecting', 'disconnected')) AS down_since,
        (SELECT max(s.ended_at) FROM instance_suspensions s WHERE s.instance_id = i.id) AS resumed_at
      FROM watched w JOIN instances i ON i.account_id = w.id
      WHERE i.deleted_at IS NULL AND NOT i.suspended AND (i.state IN ('logged_out', 'banned')
        OR (i.state IN ('connecting', 'disconnected') AND i.first_connected_at IS NOT NULL)))
    SELECT account_id, id AS subject, name,
      CASE WHEN state IN ('logged_out', 'banned') THEN state ELSE 'down' END AS kind,
      CASE WHEN state IN ('logged_out', 'banned') THEN state_changed_at
        ELSE COALESCE(down_since, state_changed_at) END AS since
    FROM instances_in_trouble
    WHERE state IN ('logged_out', 'banned') OR greatest(COALESCE(down_since, state_changed_at), resumed_at)
      <= ${at}::timestamptz - ${DOWN_MINUTES}::integer * interval '1 minute'
    UNION ALL
    SELECT e.account_id, e.id, split_part(e.url, '?', 1), 'webhook_disabled', e.disabled_at
    FROM watched w JOIN webhook_endpoints e ON e.account_id = w.id
    WHERE NOT e.enabled AND e.disabled_reason IS NOT NULL`,
  );
}

async function readOpen(tx: Prisma.TransactionClient): Promise<OpenIncident[]> {
  return toFields<OpenIncident>(
    await tx.$queryRaw`
    SELECT o.id, o.kind, o.subject, CASE
        WHEN o.kind = 'webhook_disabled' THEN e.id IS NULL OR e.enabled OR e.disabled_reason IS NULL
        ELSE i.id IS NULL OR i.deleted_at IS NOT NULL OR i.suspended OR a.suspended_at IS NOT NULL
          OR i.state = 'connected' END AS over
    FROM alert_incidents o
    JOIN accounts a ON a.id = o.account_id
    LEFT JOIN instances i ON i.id = o.subject
    LEFT JOIN webhook_endpoints e ON e.id = o.subject
    WHERE o.ended_at IS NULL`,
  );
}

/** Contacts that received the begin, or still will, receive the end. */
async function queueEnds(
  tx: Prisma.TransactionClient,
  ended: readonly OpenIncident[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return;
  const begins = await tx.alertNotice.findMany({
    where: { incidentId: { in: ended.map(({ id }) => id) }, phase: 'begin', status: { not: 'failed' } },
  });
  await tx.alertNotice.createMany({
    data: begins.map(({ incidentId, contactId }) => newNotice(incidentId, contactId, 'end', now)),
  });
}

async function beginIncidents(
  tx: Prisma.TransactionClient,
  begin: readonly Trouble[],
  now: Date,
): Promise<void> {
  if (begin.length === 0) return;
  const incidents = begin.map((trouble) => ({ id: newUuid(), ...trouble, createdAt: now }));
  await tx.alertIncident.createMany({ data: incidents });
  const contacts = await tx.alertContact.findMany({
    where: { accountId: { in: begin.map(({ accountId }) => accountId) }, verifiedAt: { not: null } },
  });
  const byAccount = Map.groupBy(contacts, ({ accountId }) => accountId);
  await tx.alertNotice.createMany({
    data: incidents.flatMap(({ id, accountId }) =>
      (byAccount.get(accountId) ?? []).map((contact) => newNotice(id, contact.id, 'begin', now)),
    ),
  });
}

const newNotice = (incidentId: string, contactId: string, phase: 'begin' | 'end', dueAt: Date) => ({
  id: newUuid(),
  incidentId,
  contactId,
  phase,
  dueAt,
});

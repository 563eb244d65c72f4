import { toPublicId } from '@gwk/core/ids/ids';
import { OverviewOut } from '../resources/console/overview.js';
import type { z } from 'zod';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { operation } from '../http/operation.js';
import { countInstances } from './count-instances.js';
import { readTraffic } from './traffic.js';

type Overview = z.output<typeof OverviewOut>;
type Attention = Overview['attention'];

const MAX_ATTENTION = 100;
/** A message that waits longer needs a person: pacing alone makes messages wait for less. */
const GROWING_AFTER_MS = 600_000;

const getOverview = operation({
  name: 'getOverview',
  method: 'GET',
  path: '/console/api/overview',
  summary: 'Show the state of the account at a glance',
  description:
    'A restricted member sees the own instances and no webhooks. Messages count at the time of their acceptance or receipt. For a restricted member the counts are up to a minute old. A change of the status more than a day after the acceptance is not counted.',
  scope: null,
  person: 'overview:read',
  status: 200,
  result: OverviewOut,
  async handle({ caller, services: { db } }) {
    const seesWebhooks = caller.instances === null && caller.scopes.has('webhooks:read');
    const [instances, { hours, days, recent }, attention] = await Promise.all([
      countInstances(db, caller),
      readTraffic(db, caller),
      listAttention(db, caller, seesWebhooks),
    ]);
    const body: Overview = {
      instances,
      hours,
      days,
      delivery_rate: divide(recent.delivered, recent.sent),
      read_rate: divide(recent.read, recent.sent),
      webhook_success: seesWebhooks
        ? divide(recent.webhooksSucceeded, recent.webhooksSucceeded + recent.webhooksFailed)
        : null,
      attention,
    };
    return { status: 200, body, headers: ['Cache-Control', 'no-store'] };
  },
});

const divide = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

async function listAttention(db: Database, caller: Caller, seesWebhooks: boolean): Promise<Attention> {
  const [instances, endpoints] = await Promise.all([
    listTroubledInstances(db, caller),
    seesWebhooks ? listTroubledEndpoints(db, caller) : [],
  ]);
  return [...instances, ...endpoints].slice(0, MAX_ATTENTION);
}

async function listTroubledInstances(db: Database, caller: Caller): Promise<Attention> {
  const waitingSince = new Date(Date.now() - GROWING_AFTER_MS).toISOString();
  const rows = await db.$queryRaw<{ id: string; name: string; reason: Attention[number]['reason'] }[]>`
    SELECT * FROM gwk_troubled_instances(${caller.accountId}::uuid, ${listRestriction(caller)}::uuid[],
      ${waitingSince}::timestamptz, ${MAX_ATTENTION}::integer)`;
  return rows.map(({ id, name, reason }) => ({
    reason,
    instance_id: toPublicId('instance', id),
    endpoint_id: null,
    name,
  }));
}

async function listTroubledEndpoints(db: Database, { accountId }: Caller): Promise<Attention> {
  const rows = await db.webhookEndpoint.findMany({
    where: { accountId, OR: [{ disabledReason: { not: null } }, { failingSince: { not: null } }] },
    orderBy: { id: 'asc' },
    take: MAX_ATTENTION,
  });
  return rows.map(({ id, disabledReason, url }) => ({
    reason: disabledReason === null ? ('webhook_failing' as const) : ('webhook_disabled' as const),
    instance_id: null,
    endpoint_id: toPublicId('endpoint', id),
    name: url,
  }));
}

export const overviewOperations = [getOverview];

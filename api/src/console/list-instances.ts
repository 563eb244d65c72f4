import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { fromPublicId, parseUuidTime, toPublicId } from '@gwk/core/ids/ids';
import { LANGUAGES } from '@gwk/core/language';
import {
  ConsoleInstanceList,
  ConsoleInstanceListQuery,
  ConsoleInstanceOut,
  MAX_COUNTED_QUEUE,
} from '../resources/console/instances.js';
import type { z } from 'zod';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { PageRange } from '../database/keyset-pages.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import { rowView } from '../http/row-view.js';
import type { Services } from '../http/services.js';
import { readHealth } from '../instances/health.js';
import { countInstances } from './count-instances.js';

type Filters = Pick<z.output<typeof ConsoleInstanceListQuery>, 'state' | 'search'>;
type Health = ConsoleInstanceOut['health'];

interface Work {
  id: string;
  queue: number;
  lastMessageId: string | null;
}

type Row = Instance & Pick<Work, 'queue'> & { health: Health; lastMessageAt: Date | null };

const healthById = new ExpiringMap<Health>({ max: 10_000, ttlMs: 300_000 });

const instanceOut = rowView<ConsoleInstanceOut, Row>(ConsoleInstanceOut, {
  id: ({ id }) => toPublicId('instance', id),
});

const listConsoleInstances = operation({
  name: 'listConsoleInstances',
  method: 'GET',
  path: '/console/api/instances',
  summary: 'List the numbers of the account with their health and queue',
  scope: null,
  person: 'overview:read',
  status: 200,
  query: ConsoleInstanceListQuery,
  result: ConsoleInstanceList,
  async handle({ caller, query, services }) {
    const list = { accountId: caller.accountId, route: 'GET /console/api/instances', query };
    const [{ status, body }, states] = await Promise.all([
      services.cursors.page(list, (page) => listRows(services, caller, { ...query, ...page }), instanceOut),
      countInstances(services.db, caller),
    ]);
    return { status, body: { ...body, states }, headers: ['Cache-Control', 'no-store'] };
  },
});

async function listRows(services: Services, caller: Caller, query: Filters & PageRange): Promise<Row[]> {
  const { db } = services;
  const instances = await db.instance.findMany({
    where: filter(caller, query),
    orderBy: { id: 'desc' },
    take: query.limit,
  });
  const work = new Map((await readWork(db, instances)).map((row) => [row.id, row]));
  return Promise.all(
    instances.map(async (instance) => {
      const { queue, lastMessageId } = work.get(instance.id)!;
      const lastMessageAt = lastMessageId === null ? null : new Date(parseUuidTime(lastMessageId));
      return { ...instance, queue, lastMessageAt, health: await readCachedHealth(services, instance) };
    }),
  );
}

/** A restriction and a cursor can both bound the id. */
function filter(caller: Caller, { state, search, before }: Filters & PageRange): Prisma.InstanceWhereInput {
  const restriction = listRestriction(caller);
  const wanted = search?.trim() ?? '';
  const id = fromPublicId('instance', wanted);
  const digits = wanted.replaceAll(/[\s()+-]/g, '');
  return {
    accountId: caller.accountId,
    deletedAt: null,
    id: { ...(before !== null && { lt: before }), ...(restriction && { in: restriction }) },
    ...(state !== undefined && { state }),
    ...(wanted !== '' && {
      OR: [
        { name: { contains: wanted.replaceAll(/[%_\\]/g, String.raw`\$&`), mode: 'insensitive' } },
        ...(/^\d+$/.test(digits) ? [{ jid: { contains: digits } }] : []),
        ...(id === null ? [] : [{ id }]),
      ],
    }),
  };
}

/** Reads queues and last messages of a page of instances. */
const readWork = (db: Database, instances: readonly Instance[]): Promise<Work[]> =>
  db.$queryRaw`
    SELECT id, queue, last_message_id AS "lastMessageId"
    FROM gwk_work_of_instances(${instances.map(({ id }) => id)}::uuid[], ${MAX_COUNTED_QUEUE}::integer)`;

async function readCachedHealth(services: Services, instance: Instance): Promise<Health> {
  const known = healthById.get(instance.id);
  if (known) return known;
  const { score, risk } = await readHealth(services, instance, LANGUAGES[0]);
  healthById.set(instance.id, { score, risk });
  return { score, risk };
}

export const instanceListOperations = [listConsoleInstances];

import { toPublicId } from '@gwk/core/ids/ids';
import type { EventType } from '@gwk/core/events';
import { Problem } from '@gwk/core/problems/problems';
import { EventListQuery, EventOut } from '../resources/event.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { mayPair, maySee, type Caller } from '../accounts/caller.js';
import type { Event } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import { pageSchema } from '../http/cursor.js';
import type { PageRange } from '../database/keyset-pages.js';
import { openEventData, removeCode } from './emit.js';
import { isFullPage, listEvents } from './list.js';

export const eventOperations = [
  operation({
    name: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    summary: 'List events, most recent first',
    scope: 'events:read',
    status: 200,
    query: EventListQuery,
    result: pageSchema(EventOut),
    problems: ['not-found'],
    async handle({ caller, query, services: { db, sealer, cursors } }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/events', query };
      const read = (page: PageRange) => listEvents(db, caller, query, page);
      return cursors.page(list, read, (row) => eventOut(sealer, caller, row), isFullPage);
    },
  }),

  operation({
    name: 'getEvent',
    method: 'GET',
    path: '/v1/events/{event_id}',
    summary: 'An event',
    scope: 'events:read',
    status: 200,
    result: EventOut,
    async handle({ caller, params, services: { db, sealer } }) {
      const row = await db.event.findUnique({ where: { id: params['event_id']! } });
      if (!row || !maySeeEvent(caller, row)) throw new Problem('not-found');
      return { status: 200, body: eventOut(sealer, caller, row) };
    },
  }),
];

/** Events without an instance belong to the whole account; restricted keys cannot see them. */
function maySeeEvent(caller: Caller, row: Event): boolean {
  if (row.accountId !== caller.accountId) return false;
  return row.instanceId === null ? caller.instances === null : maySee(caller, row.instanceId);
}

function eventOut(sealer: Sealer, caller: Caller, row: Event): EventOut {
  const data = openEventData(sealer, row.accountId, row.dataSealed);
  return {
    id: toPublicId('event', row.id),
    type: row.type as EventType,
    instance_id: row.instanceId === null ? null : toPublicId('instance', row.instanceId),
    timestamp: row.timestamp.toISOString(),
    data: row.type === 'instance.qr' && !mayPair(caller) ? removeCode(data) : data,
  };
}

import { Problem } from '@gwk/core/problems/problems';
import { z } from 'zod';
import { EventListQuery, EventOut, EventStreamQuery } from '../resources/event.js';
import { maySee, nameActor, type Caller } from '../accounts/caller.js';
import { filterInstances } from '../accounts/find-instance.js';
import type { Event } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import { pageSchema } from '../http/cursor.js';
import type { PageRange } from '../database/keyset-pages.js';
import { openPlace } from './after.js';
import { MAX_OWN_STREAMS, MAX_STREAMS } from './feed.js';
import { listForward, streamEvents } from './forward.js';
import { isFullPage, listEvents } from './list.js';
import { eventOut } from './view.js';

const STREAM_LATER_S = 10;
const TOO_MANY = {
  pt: `Até ${MAX_STREAMS} streams de eventos abertos por processo, ${MAX_OWN_STREAMS} por chave ou pessoa.`,
  en: `At most ${MAX_STREAMS} open event streams a process, ${MAX_OWN_STREAMS} a key or person.`,
};
const FORWARD =
  'With `after`, the page has the oldest events first, `next_cursor` is never null, and no event is left out, even if its transaction takes longer than that of a later event. Pass each `next_cursor` as the next `after`. A cursor stays valid. A page may be empty while `has_more` is true.';
const STREAM =
  'Begins now, after `after`, or after the header `Last-Event-ID`. `event` is the type, `id` a cursor, and `data` the event as in the list. A comment comes every 15 seconds. An `end` with a `reason` ends the stream: `slow_reader`, `access_ended`, `too_many_streams` or `unavailable`. Each event arrives at least once: continue with the last id.';

export const eventOperations = [
  operation({
    name: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    summary: 'List events, most recent first, or forward from a cursor',
    description: FORWARD,
    scope: 'events:read',
    status: 200,
    query: EventListQuery,
    result: pageSchema(EventOut, 'EventPage', {
      has_more: z
        .boolean()
        .optional()
        .meta({ description: 'With `after`: whether more events follow at once.' }),
    }),
    problems: ['not-found', 'invalid-cursor'],
    async handle({ caller, query, exchange, services }) {
      const { db, sealer, cursors } = services;
      if (query.after !== undefined) return listForward(services, exchange, { ...query, after: query.after });
      const list = { accountId: caller.accountId, route: 'GET /v1/events', query };
      const read = (page: PageRange) => listEvents(db, caller, query, page);
      return cursors.page(list, read, (row) => eventOut(sealer, caller, row), isFullPage);
    },
  }),

  operation({
    name: 'streamEvents',
    method: 'GET',
    path: '/v1/events/stream',
    summary: 'Events as they happen, as server-sent events',
    description: STREAM,
    scope: 'events:read',
    status: 200,
    query: EventStreamQuery,
    result: EventOut,
    resultType: 'text/event-stream',
    problems: ['not-found', 'invalid-cursor', 'rate-limited'],
    async handle({ caller, query, exchange, services }) {
      const { eventFeed, db } = services;
      if (!eventFeed.mayOpen(nameActor(caller.credential)))
        throw new Problem('rate-limited', { retryAfter: STREAM_LATER_S, detail: TOO_MANY });
      await filterInstances(db, caller, query.instance_id);
      const last = exchange.headers['last-event-id'];
      const after = typeof last === 'string' && last !== '' ? last : (query.after ?? 'now');
      const place = await openPlace(services, caller.accountId, after);
      return { status: 200, stream: streamEvents({ services, exchange, query, place }) };
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

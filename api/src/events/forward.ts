import type { z } from 'zod';
import { nameActor, maySee, listRestriction, type Caller } from '../accounts/caller.js';
import { fromPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { filterInstances } from '../accounts/find-instance.js';
import type { Answer, EventProducer, EventStream } from '../http/respond.js';
import type { Exchange } from '../http/exchange.js';
import type { Services } from '../http/services.js';
import { findCaller } from '../http/find-caller.js';
import type { EventListQuery, EventStreamQuery } from '../resources/event.js';
import { openPlace, placeOf, sealPlace, type EventFilter, type EventsAfter, type Place } from './after.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { eventOut } from './view.js';

/** Statements of one request. Each looks at up to 5,000 events. */
const MAX_READS = 20;
const STREAM_PAGE = 50;
/** A stream without matching events checks the access of its client and sends its place at this interval. */
const LOOK_MS = 15_000;

type ForwardQuery = z.output<typeof EventListQuery> & { after: string };

/** Lists events after a cursor, oldest first. Waits for the first one if there is none. */
export async function listForward(
  services: Services,
  caller: Caller,
  { after, limit, wait = 0, since, type, instance_id }: ForwardQuery,
  exchange: Exchange,
): Promise<Answer> {
  const { db, sealer, eventFeed } = services;
  const { accountId } = caller;
  const instances = await filterInstances(db, caller, instance_id);
  const filter = { accountId, types: type === undefined ? null : [type], instances };
  let place = await openPlace(services, accountId, after);
  if (since !== undefined) place = { ...place, since: Math.max(place.since, Date.parse(since)) };
  const ended = endOfWait(exchange, wait);
  for (let reads = 1; ; reads++) {
    const page = await eventFeed.read(filter, place, limit);
    place = page.next;
    const isOver = page.hasMore ? reads >= MAX_READS : ended.aborted || eventFeed.isClosed;
    if (page.events.length > 0 || isOver) return forwardPage(sealer, caller, page);
    if (page.hasMore) continue;
    await eventFeed.wait(accountId, place, ended);
    const { caller: still } = await findCaller(services, exchange);
    if (!still || !filterOf(still, { type, instance_id })) throw new Problem('unauthorized');
  }
}

function endOfWait({ res }: Exchange, seconds: number): AbortSignal {
  if (seconds === 0) return AbortSignal.abort();
  const gone = new AbortController();
  res!.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, AbortSignal.timeout(seconds * 1_000)]);
}

function forwardPage(sealer: Sealer, caller: Caller, { events, next, hasMore }: EventsAfter): Answer {
  const data = events.map((event) => eventOut(sealer, caller, event));
  const next_cursor = sealPlace(sealer, caller.accountId, next);
  return { status: 200, body: { data, next_cursor, has_more: hasMore } };
}

interface StreamRequest {
  services: Services;
  exchange: Exchange;
  caller: Caller;
  query: z.output<typeof EventStreamQuery>;
  place: Place;
}

/** Produces the events after a place for as long as the client reads, and may read them. */
export function streamEvents({
  services,
  exchange,
  query,
  place: start,
  ...given
}: StreamRequest): EventProducer {
  const { eventFeed, sealer } = services;
  return async (out) => {
    const counted = eventFeed.count(nameActor(given.caller.credential));
    try {
      let place = start;
      out.mark(sealPlace(sealer, given.caller.accountId, place));
      while (!out.signal.aborted) {
        const { caller } = await findCaller(services, exchange);
        const filter = caller && filterOf(caller, query);
        if (!caller || !filter) return out.send('end', { reason: 'access_ended' });
        const page = await eventFeed.read(filter, place, STREAM_PAGE);
        if (!(await sendAll(sealer, out, { caller, place, page })))
          return out.send('end', { reason: 'slow_reader' });
        place = page.next;
        if (!page.hasMore) await waitForEvent(services, out, { accountId: caller.accountId, place });
      }
    } finally {
      counted.close();
    }
  };
}

/** @returns false once the client reads too slowly */
async function sendAll(
  sealer: Sealer,
  out: EventStream,
  { caller, place, page }: { caller: Caller; place: Place; page: EventsAfter },
): Promise<boolean> {
  for (const event of page.events) {
    const id = sealPlace(sealer, caller.accountId, placeOf(event, place));
    out.send(event.type, eventOut(sealer, caller, event), id);
    if (!(await out.drained())) return false;
  }
  return true;
}

async function waitForEvent(
  { eventFeed, sealer }: Services,
  out: EventStream,
  { accountId, place }: { accountId: string; place: Place },
): Promise<void> {
  const look = AbortSignal.timeout(LOOK_MS);
  await eventFeed.wait(accountId, place, AbortSignal.any([out.signal, look]));
  if (look.aborted) out.mark(sealPlace(sealer, accountId, place));
}

/** The events that a caller may read at present; null: none of those it asks for. */
function filterOf(caller: Caller, { type, instance_id }: StreamRequest['query']): EventFilter | null {
  const { accountId, scopes } = caller;
  if (!scopes.has('events:read')) return null;
  const types = type === undefined ? null : [type];
  if (instance_id === undefined) return { accountId, types, instances: listRestriction(caller) };
  const id = fromPublicId('instance', instance_id)!;
  return maySee(caller, id) ? { accountId, types, instances: [id] } : null;
}

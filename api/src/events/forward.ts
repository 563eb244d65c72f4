import type { z } from 'zod';
import { nameActor, type Caller } from '../accounts/caller.js';
import { Problem } from '@gwk/core/problems/problems';
import { filterInstances } from '../accounts/find-instance.js';
import type { Answer, EventProducer, EventStream } from '../http/respond.js';
import type { Exchange } from '../http/exchange.js';
import type { Services } from '../http/services.js';
import { authorizeStill } from '../http/route.js';
import type { EventListQuery, EventStreamQuery } from '../resources/event.js';
import { openPlace, placeOf, sealPlace, type EventFilter, type EventsAfter, type Place } from './after.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { eventOut } from './view.js';

/** Statements of one request. Each looks at up to 5,000 events. */
const MAX_READS = 10;
const STREAM_PAGE = 50;
/** A stream without matching events checks the access of its client, and sends its place, at this interval. */
const LOOK_MS = 15_000;

/** Both operations need it, also while they wait. */
export const SCOPE = { scope: 'events:read' } as const;

type ForwardQuery = z.output<typeof EventListQuery> & { after: string };

/** Lists events after a cursor, oldest first. Waits for the first one if there is none. */
export async function listForward(
  services: Services,
  exchange: Exchange,
  { after, limit, wait = 0, since, ...query }: ForwardQuery,
): Promise<Answer> {
  const { sealer, eventFeed } = services;
  let caller = exchange.caller!;
  const { accountId } = caller;
  let place = await openPlace(services, accountId, after);
  if (since !== undefined) place = { ...place, since: Math.max(place.since, Date.parse(since)) };
  const ended = endOfWait(exchange, wait);
  for (let reads = 1; ; reads++) {
    const filter = await filterFor(services, caller, query);
    const page = await eventFeed.read(filter, place, limit);
    place = page.next;
    const isOver = page.hasMore ? reads >= MAX_READS : ended.aborted || eventFeed.isClosed;
    if (page.events.length > 0 || isOver) return forwardPage(sealer, caller, page);
    if (page.hasMore) continue;
    // The wait is no work of this process, whose time is limited.
    exchange.workingSince = 0;
    await eventFeed.wait(accountId, place, ended);
    exchange.workingSince = services.clock.now();
    caller = await authorizeStill(SCOPE, exchange, services);
  }
}

function endOfWait({ res }: Exchange, seconds: number): AbortSignal {
  if (seconds === 0) return AbortSignal.abort();
  const gone = new AbortController();
  res!.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, AbortSignal.timeout(seconds * 1_000)]);
}

/** @throws Problem `not-found` for an instance that the caller may not access */
async function filterFor(
  { db }: Services,
  caller: Caller,
  { type, instance_id }: Pick<ForwardQuery, 'type' | 'instance_id'>,
): Promise<EventFilter> {
  const instances = await filterInstances(db, caller, instance_id);
  return { accountId: caller.accountId, types: type === undefined ? null : [type], instances };
}

function forwardPage(sealer: Sealer, caller: Caller, { events, next, hasMore }: EventsAfter): Answer {
  const data = events.map((event) => eventOut(sealer, caller, event));
  const next_cursor = sealPlace(sealer, caller.accountId, next);
  return { status: 200, body: { data, next_cursor, has_more: hasMore } };
}

interface StreamRequest {
  services: Services;
  exchange: Exchange;
  query: z.output<typeof EventStreamQuery>;
  place: Place;
}

/** Why a stream ends although its client is connected. */
type EndReason = 'access_ended' | 'slow_reader' | 'too_many_streams' | 'unavailable';

/** Produces the events after a place for as long as the client reads, and may read them. */
export function streamEvents(request: StreamRequest): EventProducer {
  const { eventFeed } = request.services;
  const actor = nameActor(request.exchange.caller!.credential);
  return async (out) => {
    // Other streams may have begun since the request was accepted.
    if (!eventFeed.mayOpen(actor)) return out.send('end', { reason: 'too_many_streams' satisfies EndReason });
    const counted = eventFeed.count(actor);
    try {
      const reason = await stream(request, out);
      if (reason) out.send('end', { reason });
    } catch (error) {
      const reason: EndReason = error instanceof Problem ? 'access_ended' : 'unavailable';
      out.send('end', { reason });
      if (!(error instanceof Problem)) throw error;
    } finally {
      counted.close();
    }
  };
}

/** @throws Problem if the client may no longer read the events */
async function stream(
  { services, exchange, query, place: start }: StreamRequest,
  out: EventStream,
): Promise<EndReason | null> {
  const { clock, eventFeed, sealer } = services;
  let place = start;
  let markedAt = -Infinity;
  while (!out.signal.aborted && !eventFeed.isClosed) {
    const caller = await authorizeStill(SCOPE, exchange, services);
    const { accountId } = caller;
    // A client that reconnects need not look again at events that do not match.
    if (clock.now() - markedAt >= LOOK_MS) {
      out.mark(sealPlace(sealer, accountId, place));
      markedAt = clock.now();
    }
    const page = await eventFeed.read(await filterFor(services, caller, query), place, STREAM_PAGE);
    for (const event of page.events) {
      out.send(
        event.type,
        eventOut(sealer, caller, event),
        sealPlace(sealer, accountId, placeOf(event, place)),
      );
      if (!(await out.drained())) return out.signal.aborted ? null : 'slow_reader';
    }
    place = page.next;
    const look = AbortSignal.any([out.signal, AbortSignal.timeout(LOOK_MS)]);
    if (!page.hasMore) await eventFeed.wait(accountId, place, look);
  }
  return null;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../errors.js';
import type { Gateway, Query } from './gateway.js';

/** An event as webhooks have it. */
export interface GatewayEvent {
  id: string;
  type: string;
  instance_id: string | null;
  timestamp: string;
  data: Record<string, unknown>;
}

const PAUSE_MS = 1_000;

/**
 * Follows the events, also when a stream ends: the next one continues after the last event. It gives an event at least
 * once. `onLost` runs before each new stream.
 */
export async function* followEvents(
  gateway: Gateway,
  query: Query,
  onLost: (reason: string) => void,
): AsyncGenerator<GatewayEvent> {
  const place: Place = { lastId: null, reason: '' };
  // The first failure ends it: the address or the key may be wrong.
  yield* readStream(gateway, query, place);
  for (;;) {
    const fault = findFinalFault(place.reason);
    if (fault) throw fault;
    onLost(place.reason);
    await sleep(PAUSE_MS);
    try {
      yield* readStream(gateway, query, place);
    } catch (error) {
      if (!(error instanceof CliError) || error.kind !== 'network') throw error;
      place.reason = error.message;
    }
  }
}

interface Place {
  lastId: string | null;
  /** Why the last stream ended. */
  reason: string;
}

async function* readStream(gateway: Gateway, query: Query, place: Place): AsyncGenerator<GatewayEvent> {
  place.reason = 'the stream ended';
  for await (const { event, id, data } of gateway.stream('/v1/events/stream', query, place.lastId)) {
    place.lastId = id ?? place.lastId;
    if (event === 'end') place.reason = (JSON.parse(data) as { reason: string }).reason;
    else if (data !== '') yield JSON.parse(data) as GatewayEvent;
  }
}

/** The fault of a stream that must not begin again. */
export function findFinalFault(reason: string): CliError | null {
  if (reason === 'access_ended')
    return new CliError('auth', 'The key was revoked, or may no longer read these events');
  if (reason === 'too_many_streams') return new CliError('refused', 'Too many streams are open for this key');
  return null;
}

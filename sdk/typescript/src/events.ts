import { Webhook } from 'standardwebhooks';
import { ConnectionError, StreamEndedError } from './errors.js';
import type { paths } from './generated/api.js';
import { planRetry } from './retry.js';
import type { Transport } from './transport.js';
import type { CallOptions, Schemas } from './types.js';

/** An event. `type` tells which `data` it has. */
export type GwkEvent = Schemas['EventOut'];
type WithoutIds<E> = E extends GwkEvent ? Pick<E, 'type' | 'timestamp' | 'data'> : never;
/** An event as webhooks receive it. `id` is the header `webhook-id`: the same in every attempt. */
export type WebhookEvent = WithoutIds<GwkEvent> & { id: string };

export type FollowQuery = NonNullable<paths['/v1/events/stream']['get']['parameters']['query']>;

export interface FollowOptions extends CallOptions {
  /** Runs each time that a stream has begun. */
  onOpen?: () => void;
  /** Runs before each new stream, with the reason why the last one ended or failed. An error that it throws ends it. */
  onLost?: (reason: Error) => void;
}

/** Ends of a stream after which another one may work. */
const PASSING = new Set(['slow_reader', 'too_many_streams', 'unavailable']);

export async function* follow(
  transport: Transport,
  { after = 'now', ...filter }: FollowQuery = {},
  options: FollowOptions = {},
): AsyncGenerator<{ event: GwkEvent; cursor: string }> {
  const once = { ...options, retries: 0 };
  for (let attempt = 1; ; attempt++) {
    // Streams end when a process stops. Another process continues them.
    let reason: unknown = new ConnectionError('The stream ended');
    try {
      // A second stream from `now` would leave out the events between the two.
      if (after === 'now') after = await findEnd(transport, once);
      for await (const item of readOnce(transport, { after, ...filter }, once)) {
        attempt = 1;
        after = item.cursor;
        yield item;
      }
    } catch (error) {
      reason = error;
    }
    const seconds = planReconnect(reason, attempt);
    if (seconds === null) throw reason;
    options.onLost?.(reason as Error);
    await transport.wait(seconds, options.signal);
  }
}

function planReconnect(reason: unknown, attempt: number): number | null {
  const isPassing = reason instanceof StreamEndedError && PASSING.has(reason.code);
  return planRetry(isPassing ? new ConnectionError() : reason, { repeatable: true, attempt });
}

async function findEnd(transport: Transport, options: CallOptions): Promise<string> {
  const query = { after: 'now', limit: 1 };
  const page = await transport.send({ method: 'GET', path: '/v1/events', params: {}, query, options });
  return (page as { next_cursor: string }).next_cursor;
}

async function* readOnce(transport: Transport, query: FollowQuery, options: FollowOptions) {
  const call = { method: 'GET', path: '/v1/events/stream', params: {}, query, options };
  for await (const { id, event, data } of transport.stream(call, options.onOpen)) {
    if (event === 'end') throw new StreamEndedError((data as { reason: string }).reason);
    if (id !== undefined) yield { event: data as GwkEvent, cursor: id };
  }
}

export function verify(
  headers: Headers | Record<string, unknown>,
  body: string | Uint8Array,
  secret: string,
): WebhookEvent {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const known = Object.fromEntries(
    entries
      .filter(([, value]) => typeof value === 'string')
      .map(([name, value]) => [name.toLowerCase(), value]),
  ) as Record<string, string>;
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const event = new Webhook(secret).verify(text, known) as WebhookEvent;
  return { ...event, id: known['webhook-id']! };
}

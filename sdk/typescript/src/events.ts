import { Webhook } from 'standardwebhooks';
import { ApiError, ConnectionError, GwkError, StreamEndedError } from './errors.js';
import type { paths } from './generated/api.js';
import { planRetry } from './retry.js';
import { readServerSentEvents } from './server-sent-events.js';
import type { Transport } from './transport.js';
import type { CallOptions, Schemas } from './types.js';

/** An event. `type` tells which `data` it has. */
export type GwkEvent = Schemas['EventOut'];
type WithoutIds<E> = E extends GwkEvent ? Pick<E, 'type' | 'timestamp' | 'data'> : never;
/** An event as webhooks receive it. `id` is the header `webhook-id`: the same in every attempt. */
export type WebhookEvent = WithoutIds<GwkEvent> & { id: string };

export type FollowQuery = NonNullable<paths['/v1/events/stream']['get']['parameters']['query']>;

export interface FollowOptions extends CallOptions {
  /** Runs before each new stream, with the reason why the last one ended or failed. An error that it throws ends it. */
  onLost?: (reason: Error) => void;
}

/** Ends of a stream after which another one may work. */
const PASSING = new Set(['slow_reader', 'unavailable']);

export async function* follow(
  transport: Transport,
  query: FollowQuery = {},
  options: FollowOptions = {},
): AsyncGenerator<{ event: GwkEvent; cursor: string }> {
  let last: string | undefined;
  for (let attempt = 1; ; attempt++) {
    let lost: Error = new GwkError('The stream ended');
    try {
      for await (const item of readOnce(transport, { query, last, options })) {
        attempt = 1;
        last = item.cursor;
        yield item;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof StreamEndedError && !PASSING.has(error.code)) throw error;
      lost = error as Error;
    }
    // Streams end when a process stops. Another process continues them.
    const failure = lost instanceof ApiError ? lost : new ConnectionError();
    const seconds = planRetry(failure, { repeatable: true, attempt });
    if (seconds === null) throw lost;
    options.onLost?.(lost);
    await transport.wait(seconds, options.signal);
  }
}

interface Reading {
  query: FollowQuery;
  last: string | undefined;
  options: CallOptions;
}

async function* readOnce(transport: Transport, { query, last, options }: Reading) {
  const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last };
  const call = { method: 'GET', path: '/v1/events/stream', params: {}, query, headers, options };
  const body = await transport.send({ ...call, isStream: true });
  for await (const { id, event, data } of readServerSentEvents(body as ReadableStream<Uint8Array>)) {
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

import { OPERATIONS } from './generated/operations.js';
import {
  follow,
  verify,
  type FollowOptions,
  type FollowQuery,
  type GwkEvent,
  type WebhookEvent,
} from './events.js';
import { pair, type PairingRequest, type PairingStep } from './pairing.js';
import { Transport, type Call, type GwkOptions } from './transport.js';
import type { CallOptions, Operations, Row } from './types.js';
import { describeUpload, type Upload } from './upload.js';

interface Extras {
  readonly events: {
    /**
     * Follows events as they happen, and continues after broken connections, 429 and 5xx, without a limit of attempts.
     * Each event comes at least once: keep the ids that you know. `for await (const { event, cursor } of client.events.follow())`; store `cursor` and pass it as
     * `after` to continue later.
     * @throws ApiError such as `invalid-cursor`, StreamEndedError if the access ended
     */
    follow(query?: FollowQuery, options?: FollowOptions): AsyncGenerator<{ event: GwkEvent; cursor: string }>;
    /**
     * Verifies the signature of a webhook request and returns its event.
     * @param body the raw body, before it is parsed
     * @throws WebhookVerificationError
     */
    verify(
      headers: Headers | Record<string, unknown>,
      body: string | Uint8Array,
      secret: string,
    ): WebhookEvent;
  };
  readonly instances: {
    /**
     * Starts a pairing and yields its steps, until the phone is connected. After a broken connection it continues with
     * the step that is open.
     * @throws ApiError such as `already-paired` or `pairing-failed`
     */
    pair(id: string, request?: PairingRequest, options?: CallOptions): AsyncGenerator<PairingStep>;
  };
}

export type Gwk = Operations & Extras;

/**
 * Client of a gateway. Each operation of the document is a method of its tag: `client.messages.send({...})`,
 * `client.instances.get(id)`. Arguments: parts of the path, then the body or query, then options.
 */
export const Gwk = class {
  constructor(options: GwkOptions) {
    const transport = new Transport(options);
    for (const [group, rows] of Object.entries(OPERATIONS)) {
      const methods = Object.entries(rows).map(([name, row]) => [name, createMethod(transport, row as Row)]);
      Object.assign(this, { [group]: Object.fromEntries(methods) as object });
    }
    const client = this as unknown as Gwk;
    Object.assign(client.events, {
      follow: (query: FollowQuery, more?: FollowOptions) => follow(transport, query, more),
      verify,
    });
    Object.assign(client.instances, {
      pair: (id: string, request?: PairingRequest, more?: CallOptions) =>
        pair({ instances: client.instances, wait: transport.wait }, id, request, more),
    });
  }
} as new (options: GwkOptions) => Gwk;

function createMethod(transport: Transport, [method, path, input, answer]: Row) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return (...args: unknown[]): unknown => {
    const params = Object.fromEntries(names.map((name, index) => [name, checkId(name, args[index])]));
    const rest = args.slice(names.length);
    const value = input === 'none' ? undefined : (rest.shift() as object | undefined);
    const call: Call = { method, path, params, options: (rest[0] as CallOptions | undefined) ?? {} };
    if (input === 'query' && value) call.query = value;
    if (input === 'body') call.body = () => value;
    if (input === 'form') Object.assign(call, { isUpload: true }, describeUpload(value as Upload));
    if (answer === 'stream') return transport.stream(call);
    return answer === 'page' ? createPages(transport, call) : transport.send(call);
  };
}

/** Without an id, or with `..`, the address would be that of another operation. */
function checkId(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && !/^\.{1,2}$/.test(value)) return value;
  throw new TypeError(`${name} is missing, or is no id`);
}

interface Page {
  data: unknown[];
  next_cursor?: string | null;
}

function createPages(transport: Transport, call: Call): Promise<Page> & AsyncIterable<unknown> {
  const first = transport.send(call) as Promise<Page>;
  async function* iterate(): AsyncGenerator<unknown> {
    let page = await first;
    for (;;) {
      yield* page.data;
      if ((page.next_cursor ?? null) === null) return;
      // A forward list continues with `after`, and ends when it has nothing new.
      const isForward = call.query !== undefined && 'after' in call.query;
      if (isForward && page.data.length === 0) return;
      const query = { ...call.query, [isForward ? 'after' : 'cursor']: page.next_cursor };
      page = (await transport.send({ ...call, query })) as Page;
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: iterate });
}

import { install } from '@sinonjs/fake-timers';
import { Webhook } from 'standardwebhooks';
import { Gwk } from './client.js';
import { ConnectionError, InvalidRequestError, RateLimitError, ServerError } from './errors.js';
import { readServerSentEvents } from './server-sent-events.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

type Answer = () => Response | Promise<Response>;

/** A client whose requests get the given answers in turn. */
function script(...answers: Answer[]) {
  const requests: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    return answers[requests.length - 1]!();
  };
  const wait = (): Promise<void> => Promise.resolve();
  return { client: new Gwk({ baseUrl: 'http://gateway', apiKey: 'gwk_live_a', fetch, wait }), requests };
}

const ok =
  (body: unknown): Answer =>
  () =>
    Response.json(body);
const refuse =
  (status: number, code: string, headers: Record<string, string> = {}, more: object = {}): Answer =>
  () =>
    Response.json(
      { type: `http://docs/problems/${code}`, status, detail: code, request_id: 'req-1', ...more },
      { status, headers },
    );
const broken: Answer = () => Promise.reject(new TypeError('fetch failed'));
const stream =
  (text: string): Answer =>
  () =>
    new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });

const TEXT = { instance_id: 'ins_1', to: '5511987654321', type: 'text', text: { body: 'Hi' } } as const;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

describe('requests', () => {
  test('fill the path, the query and the body', async () => {
    const { client, requests } = script(ok({}), ok({}), ok({}));
    await client.messages.edit('msg_1', { text: 'New' }, { ifMatch: '"1"' });
    await client.instances.getAvailability('ins_1', { month: '2026-11' });
    await client.instances.checkContact('ins_1', '5511987654321');
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'PATCH http://gateway/v1/messages/msg_1',
      'GET http://gateway/v1/instances/ins_1/availability?month=2026-11',
      'GET http://gateway/v1/instances/ins_1/contacts/5511987654321',
    ]);
    await expect(requests[0]!.json()).resolves.toEqual({ text: 'New' });
    expect(requests[0]!.headers.get('if-match')).toBe('"1"');
    expect(requests[0]!.headers.get('authorization')).toBe('Bearer gwk_live_a');
  });

  test.each<[string, Answer]>([
    ['a 503', refuse(503, 'engine-unavailable')],
    ['a 500', refuse(500, 'internal-error')],
    ['a 429', refuse(429, 'rate-limited')],
    ['a request in progress', refuse(409, 'idempotency-in-progress')],
    ['a broken connection', broken],
  ])('repeats a send after %s with the same Idempotency-Key', async (_, answer) => {
    const { client, requests } = script(answer, ok({ id: 'msg_1' }));
    await expect(client.messages.send(TEXT)).resolves.toEqual({ id: 'msg_1' });
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  test('keeps the Idempotency-Key of the caller', async () => {
    const { client, requests } = script(ok({}));
    await client.messages.send(TEXT, { idempotencyKey: 'order-1042' });
    expect(requests[0]!.headers.get('idempotency-key')).toBe('order-1042');
  });

  test('does not repeat a change without a key after a broken connection', async () => {
    const { client, requests } = script(broken);
    await expect(client.messages.edit('msg_1', { text: 'New' })).rejects.toBeInstanceOf(ConnectionError);
    expect(requests).toHaveLength(1);
  });

  test('ends at an aborted signal', async () => {
    const stop = new AbortController();
    const { client, requests } = script(() => {
      stop.abort(new Error('stop'));
      return broken();
    });
    await expect(client.messages.list({}, { signal: stop.signal })).rejects.toThrow('stop');
    expect(requests).toHaveLength(1);
  });
});

describe('error answers', () => {
  test('are thrown by family, with code, fields and request id', async () => {
    const errors = [{ path: 'text.body', code: 'custom', message: 'at least 1 characters' }];
    const { client } = script(refuse(422, 'validation-error', {}, { errors }));
    const error = await client.messages.send(TEXT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      name: 'InvalidRequestError',
      code: 'validation-error',
      status: 422,
      errors,
      requestId: 'req-1',
    });
  });

  test('with a Retry-After of hours are not waited for', async () => {
    const { client, requests } = script(refuse(429, 'policy-new-contacts-limit', { 'Retry-After': '7200' }));
    const error = await client.messages.send(TEXT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryAfter: 7200 });
    expect(requests).toHaveLength(1);
  });

  test('of a proxy have the status as their code', async () => {
    const { client } = script(() => new Response('<html>', { status: 502 }));
    const error = await client.messages.get('msg_1', { retries: 0 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ code: 'http-502' });
  });
});

describe('iterators', () => {
  test('read all pages', async () => {
    const { client, requests } = script(
      ok({ data: [1, 2], next_cursor: 'c' }),
      ok({ data: [3], next_cursor: null }),
    );
    await expect(collect(client.messages.list({ status: 'read' }))).resolves.toEqual([1, 2, 3]);
    expect(requests[1]!.url).toBe('http://gateway/v1/messages?status=read&cursor=c');
  });

  test('follow events over a broken stream, from the last one', async () => {
    const { client, requests } = script(
      stream(': ping\n\nid: 1\nevent: message.sent\ndata: {"id":"evt_1"}\n\n'),
      stream(
        'id: 2\nevent: message.sent\ndata: {"id":"evt_2"}\n\nevent: end\ndata: {"reason":"access_ended"}\n\n',
      ),
    );
    const seen: string[] = [];
    const follow = async (): Promise<void> => {
      for await (const { event, cursor } of client.events.follow()) seen.push(`${event.id} ${cursor}`);
    };
    await expect(follow()).rejects.toMatchObject({ code: 'access_ended' });
    expect(seen).toEqual(['evt_1 1', 'evt_2 2']);
    expect(requests[1]!.headers.get('last-event-id')).toBe('1');
  });

  test('report each lost stream, and continue after a 503', async () => {
    const end = stream(
      'id: 1\nevent: message.sent\ndata: {}\n\nevent: end\ndata: {"reason":"slow_reader"}\n\n',
    );
    const unavailable = Array.from({ length: 4 }, () => refuse(503, 'unavailable'));
    const { client } = script(end, stream(': ping\n\n'), ...unavailable, broken, refuse(401, 'unauthorized'));
    const lost: string[] = [];
    const onLost = ({ message }: Error) => void lost.push(message);
    await expect(collect(client.events.follow({}, { onLost, retries: 0 }))).rejects.toMatchObject({
      status: 401,
    });
    expect(lost.slice(0, 3)).toEqual(['The stream ended: slow_reader', 'The stream ended', 'unavailable']);
    expect(lost).toHaveLength(7);
    expect(lost[6]).toBe('No answer from the gateway');
  });

  test('end with what onLost throws', async () => {
    const { client, requests } = script(broken);
    const onLost = (reason: Error) => {
      throw reason;
    };
    await expect(collect(client.events.follow({}, { onLost, retries: 0 }))).rejects.toThrow(ConnectionError);
    expect(requests).toHaveLength(1);
  });

  test('end after a minute without a comment', async () => {
    const clock = install({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let send: (text: string) => void;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => void (send = (text) => controller.enqueue(new TextEncoder().encode(text))),
      });
      const events = collect(readServerSentEvents(body));
      await clock.tickAsync(59_000);
      send!('event: a\ndata: {}\n\n');
      await clock.tickAsync(59_000);
      send!('event: b\ndata: {}\n\n');
      await clock.tickAsync(60_000);
      await expect(events).resolves.toMatchObject([{ event: 'a' }, { event: 'b' }]);
    } finally {
      clock.uninstall();
    }
  });

  test('throw a ConnectionError when the stream of a pairing breaks', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
    const { client } = script(ok({}), () => new Response(body));
    await expect(collect(client.instances.pair('ins_1'))).rejects.toThrow(ConnectionError);
  });

  test('yield the steps of a pairing until the phone is connected', async () => {
    const { client } = script(
      ok({}),
      stream('event: qr\ndata: {"code":"x","expires_in_s":20}\n\nevent: connected\ndata: {"jid":"j"}\n\n'),
    );
    await expect(collect(client.instances.pair('ins_1'))).resolves.toEqual([
      { step: 'qr', code: 'x', expires_in_s: 20 },
      { step: 'connected', jid: 'j' },
    ]);
  });

  test('throw the reason of a failed pairing', async () => {
    const failed = '{"type":"http://docs/problems/pairing-failed","status":502,"detail":"codes_unread"}';
    const { client } = script(ok({}), stream(`event: error\ndata: ${failed}\n\n`));
    await expect(collect(client.instances.pair('ins_1'))).rejects.toMatchObject({
      code: 'pairing-failed',
      message: 'codes_unread',
    });
  });
});

test('uploads a stream again after a 503', async () => {
  const { client, requests } = script(refuse(503, 'engine-unavailable'), ok({ id: 'med_1' }));
  await client.media.upload({ file: new Blob(['abc']).stream(), filename: 'a.txt' });
  const form = await requests[1]!.formData();
  await expect((form.get('file') as Blob).text()).resolves.toBe('abc');
  expect(form.get('filename')).toBe('a.txt');
});

describe('verification', () => {
  const { client } = script();
  const body = '{"type":"message.sent","timestamp":"2026-11-30T00:00:00Z","data":{}}';
  const now = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(SECRET).sign('evt_1', now, body),
  };

  test('returns the event with its id, from any form of headers and body', () => {
    const event = { id: 'evt_1', type: 'message.sent' };
    expect(client.events.verify(headers, body, SECRET)).toMatchObject(event);
    expect(client.events.verify(new Headers(headers), new TextEncoder().encode(body), SECRET)).toMatchObject(
      event,
    );
  });

  test('refuses a changed body', () => {
    expect(() => client.events.verify(headers, `${body} `, SECRET)).toThrow('No matching signature');
  });
});

import { install } from '@sinonjs/fake-timers';
import { Webhook } from 'standardwebhooks';
import { Gwk } from './client.js';
import { ConnectionError, GwkError, InvalidRequestError, RateLimitError, ServerError } from './errors.js';
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
  const waits: number[] = [];
  const wait = (seconds: number): Promise<void> => {
    waits.push(seconds);
    return Promise.resolve();
  };
  const client = new Gwk({ baseUrl: 'http://gateway', apiKey: 'gwk_live_a', fetch, wait });
  return { client, requests, waits };
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

  const edit = (client: Gwk) => client.messages.edit('msg_1', { text: 'New' });
  const remove = (client: Gwk) => client.messages.delete('msg_1');
  test.each<[string, (client: Gwk) => Promise<unknown>, Answer, number]>([
    ['repeat a DELETE after a broken connection', remove, broken, 2],
    ['repeat a DELETE after a 500', remove, refuse(500, 'internal-error'), 2],
    ['repeat a PATCH after a 429', edit, refuse(429, 'rate-limited'), 2],
    ['repeat a PATCH after a 503', edit, refuse(503, 'engine-unavailable'), 2],
    ['send a PATCH once before a broken connection', edit, broken, 1],
    ['send a PATCH once before a 500', edit, refuse(500, 'internal-error'), 1],
  ])('%s', async (_, call, answer, times) => {
    const { client, requests } = script(answer, ok({}));
    await call(client).catch(() => undefined);
    expect(requests).toHaveLength(times);
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
});

/** A stream whose connection breaks after the text. */
const breaking =
  (text: string): Answer =>
  () =>
    new Response(
      new ReadableStream({
        start: (to) => to.enqueue(new TextEncoder().encode(text)),
        pull: (to) => to.error(new TypeError('terminated')),
      }),
    );

describe('pairing', () => {
  const code = 'event: code\ndata: {"code":"x","expires_in_s":20}\n\n';
  const connected = 'event: connected\ndata: {"jid":"j"}\n\n';
  const failed = '{"type":"http://docs/problems/pairing-failed","status":502,"detail":"codes_unread"}';
  const open = ok({ state: 'pairing', error: null });

  test.each<[string, Answer[], string[]]>([
    ['in one stream', [stream(code + connected)], ['code', 'connected']],
    ['over a stream that breaks', [breaking(code), open, stream(connected)], ['code', 'connected']],
    [
      'over a stream that ends',
      [stream(code), open, stream(code + connected)],
      ['code', 'code', 'connected'],
    ],
    [
      'if the phone was linked in between',
      [breaking(''), ok({ state: 'connecting' }), stream(connected)],
      ['connected'],
    ],
  ])('yields the steps until the phone is connected, %s', async (_, answers, expected) => {
    const { client } = script(ok({}), ...answers);
    const steps = await collect(client.instances.pair('ins_1'));
    expect(steps.map(({ step }) => step)).toEqual(expected);
    expect(steps.at(-1)).toEqual({ step: 'connected', jid: 'j' });
  });

  const reason = { reason: 'codes_unread', detail: 'codes_unread' };
  test.each<[string, Answer[]]>([
    ['as the stream says it', [stream(`event: error\ndata: ${failed}\n\n`)]],
    ['between two streams', [breaking(''), open, breaking(''), ok({ state: 'pending_pair', error: reason })]],
  ])('throws the reason of a failure, %s', async (_, answers) => {
    const { client, requests } = script(ok({}), ...answers);
    await expect(collect(client.instances.pair('ins_1'))).rejects.toMatchObject({
      code: 'pairing-failed',
      message: 'codes_unread',
    });
    expect(requests).toHaveLength(answers.length + 1);
  });

  test('ends when the gateway cannot be reached', async () => {
    const { client, requests } = script(ok({}), ...Array.from({ length: 8 }, () => broken));
    await expect(collect(client.instances.pair('ins_1'))).rejects.toBeInstanceOf(ConnectionError);
    expect(requests).toHaveLength(9);
  });
});

describe('following events', () => {
  const event = (id: number): string => `id: ${id}\nevent: message.sent\ndata: {"id":"evt_${id}"}\n\n`;
  const end = (reason: string): string => `event: end\ndata: {"reason":"${reason}"}\n\n`;
  const ended = stream(end('access_ended'));
  /** Follows until an error, which it returns. */
  async function followAll(query: object | undefined, ...answers: Answer[]) {
    const { client, requests, waits } = script(...answers);
    const seen: string[] = [];
    const follow = async (): Promise<void> => {
      for await (const { event, cursor } of client.events.follow(query)) seen.push(`${event.id} ${cursor}`);
    };
    const error = await follow().catch((thrown: unknown) => thrown);
    return { error, seen, waits, urls: requests.map(({ url }) => url.replace('http://gateway/v1/', '')) };
  }

  test('continues after the last event', async () => {
    const { error, seen, urls } = await followAll(
      { after: 'oldest', type: 'message.sent' },
      stream(`: ping\n\n${event(1)}`),
      breaking(event(2)),
      stream(event(3) + end('access_ended')),
    );
    expect(error).toMatchObject({ name: 'StreamEndedError', code: 'access_ended' });
    expect(seen).toEqual(['evt_1 1', 'evt_2 2', 'evt_3 3']);
    expect(urls).toEqual(
      ['oldest', '1', '2'].map((after) => `events/stream?after=${after}&type=message.sent`),
    );
  });

  test.each([[undefined], [{ after: 'now' }]])(
    'keeps its start over broken streams for %j',
    async (query) => {
      const page = ok({ data: [], next_cursor: 'c' });
      const { urls } = await followAll(query, broken, page, broken, breaking(''), ended);
      const [start, opened] = ['events?after=now&limit=1', 'events/stream?after=c'];
      expect(urls).toEqual([start, start, opened, opened, opened]);
    },
  );

  test.each<[string, Answer]>([
    ['a broken connection', broken],
    ['a stream that breaks', breaking('')],
    ['a stream that ends', stream('')],
    ['a 500', refuse(500, 'internal-error')],
    ['a 503', refuse(503, 'engine-unavailable')],
    ['a 429', refuse(429, 'rate-limited', { 'Retry-After': '10' })],
    ['slow_reader', stream(end('slow_reader'))],
    ['too_many_streams', stream(end('too_many_streams'))],
    ['unavailable', stream(end('unavailable'))],
  ])('continues after more of %s than a request has retries', async (_, answer) => {
    const many = Array.from({ length: 6 }, () => answer);
    const { error } = await followAll({ after: 'c' }, ...many, ended);
    expect(error).toMatchObject({ code: 'access_ended' });
  });

  test.each<[string, Answer, object]>([
    ['a 400', refuse(400, 'invalid-cursor'), { code: 'invalid-cursor' }],
    ['a 401', refuse(401, 'unauthorized'), { code: 'unauthorized' }],
    ['a 403', refuse(403, 'insufficient-scope'), { code: 'insufficient-scope' }],
    ['an unknown end', stream(end('other')), { name: 'StreamEndedError', code: 'other' }],
    ['an event that is no JSON', stream('id: 1\nevent: message.sent\ndata: {\n\n'), { name: 'SyntaxError' }],
  ])('throws %s', async (_, answer, expected) => {
    const { error, urls } = await followAll({ after: 'c' }, answer);
    expect(error).toMatchObject(expected);
    expect(urls).toHaveLength(1);
  });

  test('throws a cursor that is no JSON', async () => {
    const { error } = await followAll(undefined, () => new Response('<html>'));
    expect(error).toMatchObject({ name: 'GwkError' });
  });

  test('waits longer each time, and starts again after an event', async () => {
    const { waits } = await followAll(
      { after: 'c' },
      ...[broken, broken, broken, breaking(event(1)), broken, ended],
    );
    const steps = waits.map((seconds) => 2 ** Math.ceil(Math.log2(seconds)));
    expect(steps).toEqual([0.5, 1, 2, 0.5, 1]);
  });
});

describe('uploads', () => {
  test('send a stream as it comes', async () => {
    const chunks = ['one', 'two', 'three'].map((text) => new TextEncoder().encode(text));
    const rest = [...chunks];
    const file = new ReadableStream<Uint8Array>(
      { pull: (to) => (rest.length > 0 ? to.enqueue(rest.shift()!) : to.close()) },
      { highWaterMark: 0 },
    );
    const lefts: number[] = [];
    const parts: string[] = [];
    const fetch = async (request: Request): Promise<Response> => {
      const copy = new Response(request.body, { headers: request.headers });
      const [body, again] = copy.body!.tee();
      for await (const part of body) {
        lefts.push(rest.length);
        parts.push(new TextDecoder().decode(part));
      }
      const form = await new Response(again, { headers: request.headers }).formData();
      const [sent, filename] = [form.get('file') as File, form.get('filename')];
      return Response.json({ text: await sent.text(), name: sent.name, filename });
    };
    const client = new Gwk({ baseUrl: 'http://gateway', fetch });
    const filename = 'a "b".txt';
    const answer = await client.media.upload({ file, filename });
    expect(answer).toEqual({ text: 'onetwothree', name: filename, filename });
    expect(parts.slice(1, -1)).toEqual(['one', 'two', 'three']);
    // The first part has arrived before the whole stream was read.
    expect(lefts[0]).toBeGreaterThan(0);
  });

  test.each<[string, Answer]>([
    ['a 429', refuse(429, 'rate-limited')],
    ['a 503', refuse(503, 'server-busy')],
    ['a broken connection', broken],
  ])('send a stream once, also after %s', async (_, answer) => {
    const { client, requests } = script(answer);
    await expect(client.media.upload({ file: new Blob(['abc']).stream() })).rejects.toBeInstanceOf(GwkError);
    expect(requests).toHaveLength(1);
  });

  test('send a file again after a 503', async () => {
    const { client, requests } = script(refuse(503, 'server-busy'), ok({ id: 'med_1' }));
    await client.media.upload({ file: new Blob(['abc']), filename: 'a.txt' });
    const form = await requests[1]!.formData();
    await expect((form.get('file') as Blob).text()).resolves.toBe('abc');
    expect(form.get('filename')).toBe('a.txt');
  });
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

describe('a stream', () => {
  test('reports each lost stream, and continues after a 503', async () => {
    const end = stream(
      'id: 1\nevent: message.sent\ndata: {}\n\nevent: end\ndata: {"reason":"slow_reader"}\n\n',
    );
    const unavailable = Array.from({ length: 4 }, () => refuse(503, 'unavailable'));
    const { client } = script(end, stream(': ping\n\n'), ...unavailable, broken, refuse(401, 'unauthorized'));
    const lost: string[] = [];
    const onLost = ({ message }: Error) => void lost.push(message);
    let opened = 0;
    const onOpen = () => void opened++;
    const following = collect(client.events.follow({ after: 'oldest' }, { onLost, onOpen }));
    await expect(following).rejects.toMatchObject({ status: 401 });
    expect(opened).toBe(2);
    expect(lost.slice(0, 3)).toEqual(['The stream ended: slow_reader', 'The stream ended', 'unavailable']);
    expect(lost).toHaveLength(7);
    expect(lost[6]).toBe('No answer from the gateway');
  });

  test('ends with what onLost throws', async () => {
    const { client, requests } = script(broken);
    const onLost = (reason: Error) => {
      throw reason;
    };
    await expect(collect(client.events.follow({}, { onLost }))).rejects.toThrow(ConnectionError);
    expect(requests).toHaveLength(1);
  });

  test('ends after a minute without a comment', async () => {
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
});

describe('a mistake of the caller', () => {
  test.each([undefined, '', '..'])('an id %p is refused, because its address is another operation', (id) => {
    const { client, requests } = script(ok({}));
    expect(() => client.instances.get(id as string)).toThrow('instance_id is missing, or is no id');
    expect(requests).toEqual([]);
  });

  test('a key with a line feed is refused without showing it', () => {
    const make = () => new Gwk({ baseUrl: 'http://gateway', apiKey: 'gwk_live_a\ngwk_live_b' });
    expect(make).toThrow(new GwkError('The API key has a character that no key has'));
  });

  test('an address of something else, which answers no JSON, is not asked again', async () => {
    const { client, requests } = script(() => new Response('<html>', { status: 200 }));
    await expect(client.instances.get('ins_1')).rejects.toThrow('The answer is no JSON');
    expect(requests).toHaveLength(1);
  });

  test('a redirect is not followed', async () => {
    const { client, requests } = script(ok({}));
    await client.instances.get('ins_1');
    expect(requests[0]!.redirect).toBe('error');
  });
});

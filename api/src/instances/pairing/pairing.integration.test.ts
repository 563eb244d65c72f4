import type { EventOut } from '@gwk/core/resources/event';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '@gwk/core/resources/instance';
import { PairingStreamData, type PairingOut } from '@gwk/core/resources/pairing';
import { fromPublicId } from '@gwk/core/ids';
import { openStream as openEvents } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import { ManualClock } from '@gwk/test/support/clock';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import { checkAnswer, type ApiClient } from '@gwk/test/support/api/client';
import { ANSWER_MS } from './open.js';
import { CommandRefusal, type FakeEngine } from '@gwk/test/support/api/fake-engine';

/** Requests that wait for an engine, and the pings of streams, go by it. */
const clock = new ManualClock();
let api: TestApi;
let otherPort: number;
let account: TestAccount;
let client: ApiClient;
let key: string;
let id: string;

beforeAll(async () => {
  api = await openApi({ clock });
  otherPort = (await api.addReplica()).port;
});
beforeEach(async () => {
  account = await api.account();
  key = (await api.key(account)).key;
  client = api.client(key);
  const created = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } });
  id = created.body.id;
});
afterAll(() => api.stop());

const path = () => `/v1/instances/${id}/pairing`;
const pair = (body?: unknown, headers: Record<string, string> = {}) =>
  client.call<PairingOut>('POST', path(), { ...(body !== undefined && { body }), headers });
const look = () => client.call<PairingOut>('GET', path());
const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const sessions = (engine: FakeEngine) =>
  engine.received.flatMap(({ name, args }) => (name === 'pair' ? [args['session'] as string] : []));

/** An engine that shows this QR for whatever session it is rung for. */
async function showing(code = 'qr-1', forMs?: number): Promise<FakeEngine> {
  const engine = await api.engine(id);
  engine.handlers.pair = async ({ session }) => {
    await engine.showQr(session as string, code, forMs);
    return {};
  };
  return engine;
}

const events = async (type: string): Promise<EventOut[]> =>
  (await client.call<Page<EventOut>>('GET', '/v1/events', { query: { type, instance_id: id } })).body.data;

describe('POST pairing', () => {
  test('opens a session and answers with its QR, the image ready to be shown; GET shows the same', async () => {
    await showing('the payload of a QR');
    expect((await look()).body).toEqual({
      instance_id: id,
      state: 'pending_pair',
      qr: null,
      pairing_code: null,
    });
    const { status, body } = await pair();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      instance_id: id,
      state: 'pairing',
      qr: { code: 'the payload of a QR', expires_in_s: 20 },
      pairing_code: null,
    });
    const [head, data] = body.qr!.image.split(',');
    expect(head).toBe('data:image/png;base64');
    expect(Buffer.from(data!, 'base64').subarray(1, 4).toString()).toBe('PNG');
    expect((await look()).body).toMatchObject({ state: 'pairing', qr: { code: 'the payload of a QR' } });
    expect((await client.call<InstanceOut>('GET', `/v1/instances/${id}`)).body.state).toBe('pending_pair');
  });

  test.each([
    ['no body', undefined],
    ['null', 'null'],
    ['an empty object', {}],
    ['the method by name', { method: 'qr' }],
  ])('%s: the method is qr', async (_name, body) => {
    const engine = await showing();
    expect((await pair(body)).body.qr?.code).toBe('qr-1');
    expect(engine.received[0]!.args).toMatchObject({ method: 'qr', phone: null });
  });

  test('with method code the answer has the code to type, and the phone reaches the engine', async () => {
    const engine = await api.engine(id);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'code', code: 'ABCD1234', expires_in_ms: 120_000 } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    const { body } = await pair({ method: 'code', phone: '5511987654321' });
    expect(body).toMatchObject({ state: 'pairing', qr: null, pairing_code: 'ABCD1234' });
    expect(engine.received[0]!.args).toMatchObject({ method: 'code', phone: '5511987654321' });
    expect(await events('instance.qr')).toEqual([]);
  });

  test.each<[string, unknown, number, string]>([
    ['an unknown field', { metod: 'qr' }, 422, 'validation-error'],
    ['an unknown method', { method: 'nfc' }, 422, 'validation-error'],
    ['method code without a phone', { method: 'code' }, 422, 'validation-error'],
    ['a phone that is none', { method: 'code', phone: '+55 11' }, 422, 'invalid-phone'],
    ['a phone of seven digits', { method: 'code', phone: '1234567' }, 422, 'invalid-phone'],
    ['a phone of sixteen digits', { method: 'code', phone: '1234567890123456' }, 422, 'invalid-phone'],
  ])('%s is refused', async (_name, body, status, code) => {
    const answer = await pair(body);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });

  test('a second POST returns the open session; a change of method restarts it', async () => {
    const engine = await showing();
    await pair();
    const again = await pair();
    expect(again.body.qr?.code).toBe('qr-1');
    expect(sessions(engine)).toHaveLength(1);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'code', code: 'ABCD1234', expires_in_ms: 20_000 } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    expect((await pair({ method: 'code', phone: '5511987654321' })).body.pairing_code).toBe('ABCD1234');
    const [first, second] = sessions(engine);
    expect(second).not.toBe(first);
    expect(await engine.showQr(first!, 'late')).toEqual({ open: false });
  });

  test('any paired state: already-paired; banned counts as paired', async () => {
    for (const state of ['connecting', 'connected', 'disconnected', 'banned']) {
      await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { state } });
      const answer = await pair();
      expect([answer.status, codeOf(answer)]).toEqual([409, 'already-paired']);
    }
  });

  test('an engine that knows better than the row says already-paired', async () => {
    (await api.engine(id)).handlers.pair = () => new CommandRefusal('already-paired');
    expect(codeOf(await pair())).toBe('already-paired');
  });

  test('the network refused pairing: pairing-failed, and the next POST opens another session', async () => {
    const engine = await api.engine(id);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'failed', reason: 'passkey_required' } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    const failed = await pair();
    expect([failed.status, codeOf(failed)]).toEqual([502, 'pairing-failed']);
    expect((await look()).body.state).toBe('pending_pair');
    engine.handlers.pair = async ({ session }) => void (await engine.showQr(session as string, 'qr-2'));
    expect((await pair()).body.qr?.code).toBe('qr-2');
  });

  test('pairing starts the engine: one that comes later finds the session with its lease', async () => {
    const answering = pair();
    const engine = await until(
      async () =>
        (await api.db.pairingSession.count({ where: { instanceId: fromPublicId('instance', id)! } })) > 0,
      { what: 'a session is open' },
    ).then(() => api.engine(id));
    expect(engine.terms.pairing).toMatchObject({ method: 'qr', phone: null });
    await engine.showQr(engine.terms.pairing!.session, 'at last');
    expect((await answering).body.qr?.code).toBe('at last');
  });

  test('answer within 15 s: without an engine 503 engine-unavailable with Retry-After; the session stays', async () => {
    expect(ANSWER_MS).toBeLessThan(15_000);
    const before = clock.count(ANSWER_MS);
    const answering = pair();
    await until(() => clock.count(ANSWER_MS) > before, { what: 'the request waits for an engine' });
    clock.advance(ANSWER_MS);
    const answer = await answering;
    // Where that did not end it, the limit of all requests would, with 500.
    expect([answer.status, codeOf(answer)]).toEqual([503, 'engine-unavailable']);
    expect(answer.headers['retry-after']).toBeDefined();
    expect((await look()).body).toMatchObject({ state: 'pairing', qr: null });
  });

  test('a suspended instance has no engine: 503 at once', async () => {
    await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { suspended: true } });
    // The clock does not move: a request that waited for an engine would hang.
    expect((await pair()).status).toBe(503);
  });

  test('with Idempotency-Key the same answer comes again', async () => {
    await showing();
    const headers = { 'idempotency-key': 'pair-1' };
    const first = await pair({}, headers);
    const again = await pair({}, headers);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.body).toEqual(first.body);
  });

  test('foreign instances are not there; the scope is instances:write', async () => {
    const foreign = await api.clientOf(await api.account());
    expect((await foreign.call('POST', path())).status).toBe(404);
    const reader = await api.clientOf(account, { scopes: ['instances:read'] });
    expect((await reader.call('POST', path())).status).toBe(403);
    expect((await reader.call('GET', path())).status).toBe(200);
  });
});

describe('what a pairing says', () => {
  test('instance.qr for each new QR; then instance.paired and instance.connected, and the session is over', async () => {
    const engine = await showing();
    await pair();
    await engine.showQr(sessions(engine)[0]!, 'qr-2');
    expect((await look()).body.qr?.code).toBe('qr-2');
    expect((await events('instance.qr')).map(({ data }) => data)).toMatchObject([
      { code: 'qr-2', expires_in_s: 20, instance_id: id },
      { code: 'qr-1', expires_in_s: 20, instance_id: id },
    ]);
    await engine.connect();
    expect((await events('instance.paired'))[0]!.data).toMatchObject({
      business_name: 'Loja',
      platform: 'android',
    });
    expect(await events('instance.connected')).toHaveLength(1);
    expect((await look()).body).toEqual({
      instance_id: id,
      state: 'connected',
      qr: null,
      pairing_code: null,
    });
  });

  test('a QR that has run out is on display no more', async () => {
    const engine = await showing('short');
    await pair();
    const where = { instanceId: fromPublicId('instance', id)! };
    await api.db.pairingSession.update({ where, data: { expiresAt: new Date() } });
    expect((await look()).body).toMatchObject({ state: 'pairing', qr: null });
    await engine.showQr(sessions(engine)[0]!, 'next');
    expect((await pair()).body.qr?.code).toBe('next');
  });

  test('codes and phones are ciphertext in the rows', async () => {
    const engine = await api.engine(id);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'code', code: 'MARKER12', expires_in_ms: 20_000 } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    expect((await pair({ method: 'code', phone: '5511987654321' })).body.pairing_code).toBe('MARKER12');
    const row = await api.db.pairingSession.findFirstOrThrow({
      where: { instanceId: fromPublicId('instance', id)! },
    });
    expect(Buffer.from(row.codeSealed!).toString('latin1')).not.toContain('MARKER');
    expect(Buffer.from(row.phoneSealed!).toString('latin1')).not.toContain('987654321');
  });
});

/** A pairing stream as its consumer reads it; held against the description once it has begun. */
async function openStream(port = api.port, apiKey = key) {
  const stream = openEvents(`http://127.0.0.1:${port}${path()}/stream`, apiKey);
  await until(() => stream.state.status !== 0, { what: 'the stream has begun' });
  const { status, headers } = stream.state;
  checkAnswer({ method: 'GET', path: `${path()}/stream`, status, headers, text: '' });
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
  return {
    ...stream,
    names: () => stream.events.map(({ event }) => event),
    ended: () => until(() => stream.state.ended, { what: 'the stream ends' }),
  };
}

describe('GET pairing/stream', () => {
  test('any replica serves it: each QR with its image, paired, connected, the end', async () => {
    const engine = await showing();
    const streams = [await openStream(), await openStream(otherPort)];
    await pair();
    for (const stream of streams) {
      await until(() => stream.names().length === 1, { what: 'the QR is on the stream' });
    }
    await engine.showQr(sessions(engine)[0]!, 'qr-2');
    for (const stream of streams) {
      await until(() => stream.names().length === 2, { what: 'the next QR is on the stream' });
    }
    await engine.connect('5511987654321@s.whatsapp.net');
    for (const stream of streams) {
      await stream.ended();
      expect(stream.names()).toEqual(['qr', 'qr', 'paired', 'connected']);
      for (const { data } of stream.events) PairingStreamData.parse(data);
      const [first, , paired, connected] = stream.events.map(({ data }) => data);
      expect(first).toMatchObject({ code: 'qr-1' });
      expect(String(first!['image'])).toMatch(/^data:image\/png;base64,/);
      expect(Object.keys(first!).sort()).toEqual(['code', 'expires_in_s', 'image']);
      expect(paired).toEqual((await events('instance.paired'))[0]!.data);
      expect(connected).toEqual((await events('instance.connected'))[0]!.data);
    }
  });

  test('of a connected instance: one connected, then the end', async () => {
    const engine = await api.engine(id);
    await engine.connect();
    const stream = await openStream();
    await stream.ended();
    expect(stream.names()).toEqual(['connected']);
  });

  test('a session that fails ends it with an error event, pairing-failed', async () => {
    const engine = await showing();
    const stream = await openStream();
    await pair();
    await until(() => stream.names().length === 1, { what: 'the QR is on the stream' });
    const news = { kind: 'failed', reason: 'codes_unread' } as const;
    await engine.call('pairing', { session: sessions(engine)[0]!, news });
    await stream.ended();
    expect(stream.events.at(-1)).toMatchObject({ event: 'error', data: { status: 502 } });
    expect(String(stream.events.at(-1)!.data['type'])).toMatch(/\/problems\/pairing-failed$/);
  });

  test('stream keep-alive: with no session open it waits, with a ping every 15 seconds', async () => {
    const stream = await openStream();
    clock.advance(100 * 15_000);
    await until(() => stream.comments.length >= 100, { what: 'the pings' });
    expect(stream.events).toEqual([]);
    await (await api.engine(id)).connect();
    await stream.ended();
    expect(stream.comments).toEqual(Array(100).fill(': ping'));
  });

  test('a key that is revoked is shown nothing more', async () => {
    const other = await api.key(account);
    const stream = await openStream(otherPort, other.key);
    await api.db.apiKey.update({ where: { id: other.id }, data: { revokedAt: new Date() } });
    // (design: revocation holds within 2 s)
    clock.advance(2_000);
    await stream.ended();
    expect(stream.names()).toEqual([]);
  });

  test('twenty of an instance are open at once, one more is refused until one ends', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream()));
    const refused = await client.call('GET', `${path()}/stream`);
    expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([
      ...[429, 'rate-limited', '15'],
    ]);
    streams.pop()!.close();
    const again = () =>
      openStream().then(
        (stream) => streams.push(stream),
        () => 0,
      );
    expect(await until(again, { what: 'there is room again' })).toBe(20);
    for (const stream of streams) stream.close();
  });

  test('of a foreign instance it is 404, as for everything of it', async () => {
    const foreign = await api.clientOf(await api.account());
    expect((await foreign.call('GET', `${path()}/stream`)).status).toBe(404);
  });
});

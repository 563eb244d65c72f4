import type { EventOut } from '../../resources/event.js';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../../resources/instance.js';
import { PairingStreamData, type PairingOut } from '@gwk/core/resources/pairing';
import { fromPublicId } from '@gwk/core/ids/ids';
import { openStream as openEvents } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import { ManualClock } from '@gwk/test/support/clock';
import { openBrowser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import { checkAnswer, type ApiClient } from '@gwk/test/support/api/client';
import { ANSWER_MS } from './open.js';
import { CommandRefusal, type FakeEngine } from '@gwk/test/support/api/fake-engine';

/** Waits for an engine and stream pings use this clock. */
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
const readPairing = () => client.call<PairingOut>('GET', path());
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const sessions = (engine: FakeEngine) =>
  engine.received.flatMap(({ name, args }) => (name === 'pair' ? [args['session'] as string] : []));

/** Starts an engine that shows this QR for every session it is asked to pair. */
async function startEngineWithQr(code = 'qr-1', forMs?: number): Promise<FakeEngine> {
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
  test('opens a session and returns its QR with an image; GET returns the same', async () => {
    await startEngineWithQr('the payload of a QR');
    expect((await readPairing()).body).toEqual({
      instance_id: id,
      state: 'pending_pair',
      qr: null,
      pairing_code: null,
      expires_in_s: null,
      passkey: null,
      error: null,
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
    expect((await readPairing()).body).toMatchObject({
      state: 'pairing',
      qr: { code: 'the payload of a QR' },
    });
    expect((await client.call<InstanceOut>('GET', `/v1/instances/${id}`)).body.state).toBe('pending_pair');
  });

  test.each([
    ['no body', undefined],
    ['null', 'null'],
    ['an empty object', {}],
    ['the method qr', { method: 'qr' }],
  ])('with %s uses the method qr', async (_name, body) => {
    const engine = await startEngineWithQr();
    expect((await pair(body)).body.qr?.code).toBe('qr-1');
    expect(engine.received[0]!.args).toMatchObject({ method: 'qr', phone: null });
  });

  test('with method code returns the code to type, and passes the phone number to the engine', async () => {
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
    ['method code without a phone number', { method: 'code' }, 422, 'validation-error'],
    ['a malformed phone number', { method: 'code', phone: '+55 11' }, 422, 'invalid-phone'],
    ['a phone number of seven digits', { method: 'code', phone: '1234567' }, 422, 'invalid-phone'],
    ['a phone number of sixteen digits', { method: 'code', phone: '1234567890123456' }, 422, 'invalid-phone'],
  ])('refuses %s', async (_name, body, status, code) => {
    const answer = await pair(body);
    expect([answer.status, problemCode(answer)]).toEqual([status, code]);
  });

  test.each(['11987654321', '011987654321', '21987654321', '05511987654321'])(
    'refuses a phone number without a country code: %s',
    async (phone) => {
      const answer = await pair({ method: 'code', phone });
      expect([answer.status, problemCode(answer)]).toEqual([422, 'invalid-phone']);
      expect(answer.body).toMatchObject({ errors: [{ path: 'phone', code: 'country_code' }] });
    },
  );

  test('returns the open session to a second POST, and restarts it when the method changes', async () => {
    const engine = await startEngineWithQr();
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

  test('answers already-paired in every paired state, also banned', async () => {
    for (const state of ['connecting', 'connected', 'disconnected', 'banned']) {
      await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { state } });
      const answer = await pair();
      expect([answer.status, problemCode(answer)]).toEqual([409, 'already-paired']);
    }
  });

  test('answers already-paired if the engine is paired and the row is not', async () => {
    (await api.engine(id)).handlers.pair = () => new CommandRefusal('already-paired');
    expect(problemCode(await pair())).toBe('already-paired');
  });

  test('answers pairing-failed if the network refuses, and the next POST opens another session', async () => {
    const engine = await api.engine(id);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'failed', reason: 'passkey_required' } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    const failed = await pair();
    expect([failed.status, problemCode(failed)]).toEqual([502, 'pairing-failed']);
    const { body } = await readPairing();
    expect(body).toMatchObject({ state: 'pending_pair', error: { reason: 'passkey_required' } });
    expect(body.error!.detail).toContain('passkey');
    const [failure] = await events('instance.pairing_failed');
    expect(failure!.data).toMatchObject({ ...body.error, instance_id: id });
    engine.handlers.pair = async ({ session }) => void (await engine.showQr(session as string, 'qr-2'));
    expect((await pair()).body).toMatchObject({ qr: { code: 'qr-2' }, error: null });
  });

  test('starts the engine: one that starts later gets the session with its lease', async () => {
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

  test('answers 503 engine-unavailable with Retry-After within 15 s without an engine, and keeps the session open', async () => {
    expect(ANSWER_MS).toBeLessThan(15_000);
    const before = clock.count(ANSWER_MS);
    const answering = pair();
    await until(() => clock.count(ANSWER_MS) > before, { what: 'the request waits for an engine' });
    clock.advance(ANSWER_MS);
    const answer = await answering;
    // Without that deadline, the time limit of all requests would end it with 500.
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect(answer.headers['retry-after']).toBeDefined();
    expect((await readPairing()).body).toMatchObject({ state: 'pairing', qr: null });
  });

  test('answers 503 at once for a suspended instance', async () => {
    await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { suspended: true } });
    // The clock does not advance, so a request that waited for an engine would hang.
    expect((await pair()).status).toBe(503);
  });

  test('replays its answer for the same Idempotency-Key', async () => {
    await startEngineWithQr();
    const headers = { 'idempotency-key': 'pair-1' };
    const first = await pair({}, headers);
    const again = await pair({}, headers);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.body).toEqual(first.body);
  });

  test('answers 404 to other accounts and needs the scope instances:write', async () => {
    const foreign = await api.clientOf(await api.account());
    expect((await foreign.call('POST', path())).status).toBe(404);
    const reader = await api.clientOf(account, { scopes: ['instances:read'] });
    expect((await reader.call('POST', path())).status).toBe(403);
    expect((await reader.call('GET', path())).status).toBe(200);
  });
});

describe('a pairing', () => {
  test('emits instance.qr for each QR, then instance.paired and instance.connected, and ends', async () => {
    const engine = await startEngineWithQr();
    await pair();
    await engine.showQr(sessions(engine)[0]!, 'qr-2');
    expect((await readPairing()).body.qr?.code).toBe('qr-2');
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
    expect((await readPairing()).body).toEqual({
      instance_id: id,
      state: 'connected',
      qr: null,
      pairing_code: null,
      expires_in_s: null,
      passkey: null,
      error: null,
    });
  });

  test('no longer shows an expired QR', async () => {
    const engine = await startEngineWithQr('short');
    await pair();
    const where = { instanceId: fromPublicId('instance', id)! };
    await api.db.pairingSession.update({ where, data: { expiresAt: new Date() } });
    expect((await readPairing()).body).toMatchObject({ state: 'pairing', qr: null });
    await engine.showQr(sessions(engine)[0]!, 'next');
    expect((await pair()).body.qr?.code).toBe('next');
  });

  test('stores codes and phone numbers encrypted', async () => {
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

/** Opens a pairing stream as a consumer does, and validates its start against the OpenAPI document. */
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
  test('sends QRs with images, paired, connected and the end, from every replica', async () => {
    const engine = await startEngineWithQr();
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

  test('sends the code to type', async () => {
    const engine = await api.engine(id);
    engine.handlers.pair = async ({ session }) => {
      const news = { kind: 'code', code: 'ABCD1234', expires_in_ms: 120_000 } as const;
      await engine.call('pairing', { session: session as string, news });
      return {};
    };
    const stream = await openStream();
    await pair({ method: 'code', phone: '5511987654321' });
    await until(() => stream.names().length === 1, { what: 'the code is on the stream' });
    expect(stream.events[0]).toMatchObject({ event: 'code', data: { code: 'ABCD1234' } });
    PairingStreamData.parse(stream.events[0]!.data);
    await engine.connect();
    await stream.ended();
  });

  test('of a connected instance sends connected and ends', async () => {
    const engine = await api.engine(id);
    await engine.connect();
    const stream = await openStream();
    await stream.ended();
    expect(stream.names()).toEqual(['connected']);
  });

  test('ends with an error event pairing-failed if the session fails', async () => {
    const engine = await startEngineWithQr();
    const stream = await openStream();
    await pair();
    await until(() => stream.names().length === 1, { what: 'the QR is on the stream' });
    const news = { kind: 'failed', reason: 'codes_unread' } as const;
    await engine.call('pairing', { session: sessions(engine)[0]!, news });
    await stream.ended();
    expect(stream.events.at(-1)).toMatchObject({ event: 'error', data: { status: 502 } });
    expect(String(stream.events.at(-1)!.data['type'])).toMatch(/\/problems\/pairing-failed$/);
  });

  test('without a session sends a ping every 15 s', async () => {
    const stream = await openStream();
    clock.advance(100 * 15_000);
    await until(() => stream.comments.length >= 100, { what: 'the pings' });
    expect(stream.events).toEqual([]);
    await (await api.engine(id)).connect();
    await stream.ended();
    expect(stream.comments).toEqual(Array(100).fill(': ping'));
  });

  test('ends for a revoked key', async () => {
    const other = await api.key(account);
    const stream = await openStream(otherPort, other.key);
    await api.db.apiKey.update({ where: { id: other.id }, data: { revokedAt: new Date() } });
    // A revocation takes effect within 2 s.
    clock.advance(2_000);
    await stream.ended();
    expect(stream.names()).toEqual([]);
  });

  test('allows ten streams of one caller, and refuses another until one ends', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => openStream()));
    const refused = await client.call('GET', `${path()}/stream`);
    expect([refused.status, problemCode(refused), refused.headers['retry-after']]).toEqual([
      ...[429, 'rate-limited', '15'],
    ]);
    streams.pop()!.close();
    const tryToOpen = () =>
      openStream().then(
        (stream) => streams.push(stream),
        () => 0,
      );
    expect(await until(tryToOpen, { what: 'another stream may open' })).toBe(10);
    for (const stream of streams) stream.close();
  });

  test('keeps places for callers who may pair from callers who may not', async () => {
    const readers = await Promise.all(
      Array.from({ length: 20 }, async () => api.key(account, { scopes: ['instances:read'] })),
    );
    const streams = await Promise.all(readers.map((reader) => openStream(api.port, reader.key)));
    const late = await api.clientOf(account, { scopes: ['instances:read'] });
    expect((await late.call('GET', `${path()}/stream`)).status).toBe(429);
    streams.push(await openStream());
    for (const stream of streams) stream.close();
  });

  test('sends no code any more once the role of its person may not pair', async () => {
    const engine = await startEngineWithQr();
    const browser = await openBrowser(api, account, 'admin');
    const stream = openEvents(`http://127.0.0.1:${api.port}${path()}/stream`, browser.headers);
    await pair();
    await until(() => stream.events.length === 1, { what: 'the QR is on the stream' });
    expect(stream.events[0]!.data).toMatchObject({ code: 'qr-1' });
    await api.db.member.updateMany({ where: { userId: browser.user.id }, data: { role: 'viewer' } });
    // Another role takes effect within 2 s.
    clock.advance(2_000);
    await engine.showQr(sessions(engine)[0]!, 'qr-2');
    await until(() => stream.events.length === 2, { what: 'the next QR is on the stream' });
    expect(stream.events[1]!.data).toEqual({ expires_in_s: 20 });
    stream.close();
  });

  test('answers 404 for an instance of another account', async () => {
    const foreign = await api.clientOf(await api.account());
    expect((await foreign.call('GET', `${path()}/stream`)).status).toBe(404);
  });
});

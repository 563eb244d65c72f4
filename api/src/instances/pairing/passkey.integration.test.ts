import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { Authenticator, type Assertion } from '@gwk/network/people/authenticator';
import { openBrowser } from '@gwk/test/support/api/console';
import { CommandRefusal, type FakeEngine } from '@gwk/test/support/api/fake-engine';
import type { Answer, ApiClient, Sending } from '@gwk/test/support/api/client';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { openStream } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import { AccessLog } from '../../public-api/access-log.js';
import type { EventOut } from '../../resources/event.js';
import type { InstanceOut } from '../../resources/instance.js';

/** The request for a passkey on its way from the engine to the person, and the answer on its way back. */
let api: TestApi;
let account: TestAccount;
let key: { id: string; key: string };
let client: ApiClient;
let id: string;
let engine: FakeEngine;
let session: string;
const phone = new Authenticator();
const lines: string[] = [];
const write = (line: string): void => void lines.push(line);
const add = Reflect.get<AccessLog, 'add'>(AccessLog.prototype, 'add');
afterAll(() => Object.assign(AccessLog.prototype, { add }));

beforeAll(async () => {
  AccessLog.prototype.add = function (this: AccessLog, ...answered): void {
    add.apply(Object.assign(this, { write }), answered);
  };
  api = await openApi({ settings: { GWK_API_PAIRING_PASSKEYS: 'on' }, logLevel: 'trace', logTo: { write } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  account = await api.account();
  await api.db.account.update({ where: { id: account.id }, data: { passkeys: true } });
  key = await api.key(account);
  client = api.client(key.key);
  ({ id, engine } = await startInstance(client));
});

async function startInstance(by: ApiClient) {
  const created = await by.call<InstanceOut>('POST', '/v1/instances', {
    body: { name: `loja-${newUuid()}` },
  });
  const started = await api.engine(created.body.id);
  started.handlers.pair = async ({ session: wanted }) => {
    await started.showQr(wanted as string, 'qr-1');
    return {};
  };
  started.handlers.passkey = () => ({});
  return { id: created.body.id, engine: started };
}

type Caller = Pick<ApiClient, 'call'>;
const path = (rest = '') => `/v1/instances/${id}/pairing${rest}`;
const read = async (by: Caller = client) => (await by.call<PairingOut>('GET', path())).body;
const post = (rest: string, by: Caller, sending: Sending = {}) =>
  by.call<PairingOut & { type?: string; errors?: { path: string; code: string }[] }>(
    'POST',
    path(rest),
    sending,
  );
const answer = (credential: unknown, by: Caller = client) => post('/passkey', by, { body: { credential } });
const confirm = (by: Caller = client, body?: object) =>
  post('/passkey/confirm', by, body === undefined ? {} : { body });
const refusal = ({ status, body }: Answer<{ type?: string }>) => [status, body.type?.split('/').at(-1)];
const NOT_AWAITED = [409, 'passkey-not-awaited'];

const OPTIONS = { rpId: 'whatsapp.com', timeout: 600_000, userVerification: 'required' };

/** The phone asks for its passkey. */
async function ask({ by = client, challenge = newUuid() }: { by?: Caller; challenge?: string } = {}) {
  await post('', by);
  session = engine.received.findLast(({ name }) => name === 'pair')!.args['session'] as string;
  const options = { ...OPTIONS, rpId: 'whatsapp.com' as const, challenge };
  await engine.call('pairing', { session, news: { kind: 'passkey', options, expires_in_ms: 600_000 } });
  return options;
}
const showCode = (expires_in_ms = 600_000) =>
  engine.call('pairing', { session, news: { kind: 'passkey_code', code: 'ABCD-1234', expires_in_ms } });
const steps = () => engine.received.flatMap(({ name, args }) => (name === 'passkey' ? [args] : []));
const expire = () =>
  api.db.pairingSession.update({
    where: { instanceId: fromPublicId('instance', id)! },
    data: { passkeyExpiresAt: new Date(Date.now() - 1) },
  });

test('takes the answer of the caller who started the pairing, then the comparison of the codes', async () => {
  const options = await ask();
  const waiting = await read();
  expect(waiting).toMatchObject({ state: 'pairing', qr: null, expires_in_s: null });
  expect(waiting.passkey).toEqual({ options, code: null, expires_at: expect.any(String) as string });

  const credential = phone.assert(options);
  const answered = await answer({
    ...credential,
    authenticatorAttachment: 'platform',
    clientExtensionResults: {},
  });
  expect(answered.status).toBe(200);
  expect(answered.body).toMatchObject({ state: 'pairing', passkey: { options: null, code: null } });
  expect(steps()).toEqual([{ session, kind: 'assertion', credential: JSON.stringify(credential) }]);

  await showCode();
  expect((await read()).passkey).toMatchObject({ options: null, code: 'ABCD-1234' });
  expect((await confirm()).status).toBe(200);
  expect(steps()[1]).toEqual({ session, kind: 'comparison', equal: true });
});

test('passes on that the codes differ', async () => {
  await ask();
  await showCode();
  expect((await confirm(client, { equal: false })).status).toBe(200);
  expect(steps()).toEqual([{ session, kind: 'comparison', equal: false }]);
});

test('a caller who names no method joins the session that waits, and one who names another method restarts it', async () => {
  const code = { method: 'code', phone: '5511987654321' };
  await post('', client, { body: code });
  session = engine.received.findLast(({ name }) => name === 'pair')!.args['session'] as string;
  const options = { ...OPTIONS, rpId: 'whatsapp.com' as const, challenge: newUuid() };
  await engine.call('pairing', { session, news: { kind: 'passkey', options, expires_in_ms: 600_000 } });
  expect((await post('', client)).body.passkey?.options).toEqual(options);
  expect((await post('', client, { body: { method: 'qr' } })).body).toMatchObject({ passkey: null });
});

test('another key that names the same method starts a pairing of its own, and the owner stays in the one that waits', async () => {
  const options = await ask();
  const qr = { body: { method: 'qr' } };
  expect((await post('', client, qr)).body.passkey?.options).toEqual(options);
  const other = api.client((await api.key(account)).key);
  expect((await post('', other)).body.passkey).toMatchObject({ options: null });
  expect((await post('', other, qr)).body).toMatchObject({ passkey: null, qr: { code: 'qr-1' } });
  const restarted = await ask({ by: other });
  expect(refusal(await answer(phone.assert(restarted), client))).toEqual([403, 'forbidden']);
  expect((await answer(phone.assert(restarted), other)).status).toBe(200);
});

test('streams both steps, and emits an event without the options', async () => {
  await post('', client);
  const stream = openStream(`http://127.0.0.1:${api.port}${path('/stream')}`, key.key);
  const options = await ask();
  await until(() => stream.events.some(({ event }) => event === 'passkey'), { what: 'the request' });
  await showCode();
  await until(() => stream.events.some(({ event }) => event === 'passkey_code'), { what: 'the code' });
  const sent = stream.events.filter(({ event }) => event.startsWith('passkey'));
  expect(sent).toMatchObject([
    { event: 'passkey', data: { options, code: null } },
    { event: 'passkey_code', data: { options: null, code: 'ABCD-1234' } },
  ]);
  stream.close();
  const query = { type: 'instance.passkey_requested', instance_id: id };
  const { data } = (await client.call<Page<EventOut>>('GET', '/v1/events', { query })).body;
  expect(data.map((event) => event.data)).toEqual([
    { instance_id: id, timestamp: expect.any(String) as string, expires_in_s: 600 },
  ]);
});

test('writes both addresses to the audit log, and the credential nowhere', async () => {
  const options = await ask();
  await answer(phone.assert(options));
  await showCode();
  await confirm();
  const entries = await api.db.auditEntry.findMany({
    where: { accountId: account.id, action: { contains: 'passkey' } },
    orderBy: { id: 'asc' },
  });
  const address = expect.stringMatching(/127\.0\.0\.1$/) as string;
  expect(entries.map(({ actor, action, detail }) => ({ actor, action, detail }))).toEqual([
    { actor: `key:${key.id}`, action: 'instance.answer-passkey', detail: { address, started_from: address } },
    {
      actor: `key:${key.id}`,
      action: 'instance.confirm-passkey',
      detail: { address, started_from: address, equal: true },
    },
  ]);
  const { signature, clientDataJSON } = phone.assert(options).response;
  for (const secret of [phone.credentialId.toString('base64url'), clientDataJSON, signature.slice(0, 20)])
    expect(lines.join('\n')).not.toContain(secret);
  expect(lines.join('\n')).toContain('"operation":"answerPasskey"');
});

test('reports the reason when the network refuses the passkey', async () => {
  const options = await ask();
  engine.handlers.passkey = async () => {
    await engine.call('pairing', { session, news: { kind: 'failed', reason: 'passkey_refused' } });
    return new CommandRefusal('passkey_not_awaited');
  };
  const refused = await answer(phone.assert(options));
  expect(refusal(refused)).toEqual([502, 'pairing-failed']);
  expect(await read()).toMatchObject({ passkey: null, error: { reason: 'passkey_refused' } });
});

test('reports the reason when the network refuses the equal codes', async () => {
  await ask();
  await showCode();
  engine.handlers.passkey = async () => {
    await engine.call('pairing', { session, news: { kind: 'failed', reason: 'passkey_refused' } });
    return new CommandRefusal('passkey_not_awaited');
  };
  expect(refusal(await confirm())).toEqual([502, 'pairing-failed']);
});

test('keeps waiting if no engine answers', async () => {
  const options = await ask();
  await engine.stop();
  expect(refusal(await answer(phone.assert(options)))).toEqual([503, 'engine-unavailable']);
  expect((await read()).passkey?.options).toEqual(options);
});

test('keeps the code if no engine answers', async () => {
  await ask();
  await showCode();
  await engine.stop();
  expect(refusal(await confirm())).toEqual([503, 'engine-unavailable']);
  expect((await read()).passkey?.code).toBe('ABCD-1234');
});

test('tells the next engine that a passkey was asked for in the session', async () => {
  expect(engine.terms.pairing).toBeNull();
  await ask();
  await engine.stop();
  const next = await api.engine(id);
  expect(next.terms.pairing).toMatchObject({ session, passkeys: true, passkey_asked: true });
});

describe('with passkeys off', () => {
  test('for the account, the engine may not ask, and an engine that asks all the same shows nothing', async () => {
    await api.db.account.update({ where: { id: account.id }, data: { passkeys: false } });
    await ask();
    expect(engine.received.find(({ name }) => name === 'pair')!.args).toMatchObject({ passkeys: false });
    expect((await read()).passkey).toBeNull();
    expect(refusal(await answer(phone.assert({ challenge: 'AA', rpId: 'whatsapp.com' })))).toEqual(
      NOT_AWAITED,
    );
    expect(
      await api.db.event.count({ where: { accountId: account.id, type: 'instance.passkey_requested' } }),
    ).toBe(0);
  });
});

describe('refuses', () => {
  const leavesNothing = (): void => expect(steps()).toEqual([]);
  const faults = ({ status, body }: Awaited<ReturnType<typeof answer>>) => [
    status,
    ...(body.errors ?? []).map(({ path: field, code }) => `${field} ${code}`),
  ];

  test('a key of another account', async () => {
    const options = await ask();
    const other = api.client((await api.key(await api.account())).key);
    expect(refusal(await answer(phone.assert(options), other))).toEqual([404, 'not-found']);
    expect(refusal(await confirm(other))).toEqual([404, 'not-found']);
    leavesNothing();
  });

  test('a key that is restricted to other instances', async () => {
    const options = await ask();
    const elsewhere = await startInstance(client);
    const instances = [fromPublicId('instance', elsewhere.id)!];
    const other = api.client((await api.key(account, { instances })).key);
    expect(refusal(await answer(phone.assert(options), other))).toEqual([404, 'not-found']);
    leavesNothing();
  });

  test('a key without instances:write, which also sees neither options nor code', async () => {
    const options = await ask();
    const reader = api.client((await api.key(account, { scopes: ['instances:read'] })).key);
    expect(refusal(await answer(phone.assert(options), reader))).toEqual([403, 'insufficient-scope']);
    expect((await read(reader)).passkey).toMatchObject({ options: null, code: null });
    await showCode();
    expect((await read(reader)).passkey).toMatchObject({ options: null, code: null });
    leavesNothing();
  });

  test('a repeated credential', async () => {
    const credential = phone.assert(await ask());
    expect((await answer(credential)).status).toBe(200);
    expect(refusal(await answer(credential))).toEqual(NOT_AWAITED);
    expect(steps()).toHaveLength(1);
  });

  test('a credential of another session', async () => {
    const former = phone.assert(await ask());
    await engine.call('pairing', { session, news: { kind: 'failed', reason: 'passkey_expired' } });
    await ask();
    const refused = await answer(former);
    expect(faults(refused)).toEqual([422, 'credential.response.clientDataJSON other_challenge']);
    leavesNothing();
  });

  test.each<[string, Parameters<Authenticator['assert']>[1], string]>([
    ['made on a page of another site', { origin: 'https://example.org' }, 'clientDataJSON other_origin'],
    ['for another relying party', { rpId: 'example.org' }, 'authenticatorData other_site'],
    ['with a changed challenge', { challenge: 'AAAA' }, 'clientDataJSON other_challenge'],
  ])('a credential %s', async (_, how, field) => {
    const options = await ask();
    expect(faults(await answer(phone.assert(options, how)))).toEqual([422, `credential.response.${field}`]);
    leavesNothing();
    // The honest one still counts.
    expect((await answer(phone.assert(options))).status).toBe(200);
  });

  test('an oversized field, and an oversized body', async () => {
    const credential = phone.assert(await ask());
    const long = (length: number): Assertion => ({
      ...credential,
      response: { ...credential.response, signature: 'A'.repeat(length) },
    });
    expect(faults(await answer(long(2_001)))[0]).toBe(422);
    expect(refusal(await answer(long(2 * 1024 * 1024)))[0]).toBe(413);
    leavesNothing();
  });

  test('a comparison before the code', async () => {
    const options = await ask();
    expect(refusal(await confirm())).toEqual(NOT_AWAITED);
    await answer(phone.assert(options));
    expect(refusal(await confirm())).toEqual(NOT_AWAITED);
    expect(steps()).toHaveLength(1);
  });

  test('an answer and a comparison after the end of the request', async () => {
    const options = await ask();
    await expire();
    expect((await read()).passkey).toBeNull();
    expect(refusal(await answer(phone.assert(options)))).toEqual(NOT_AWAITED);
    await showCode();
    await expire();
    expect(refusal(await confirm())).toEqual(NOT_AWAITED);
    leavesNothing();
  });

  test('a second browser and a key, while another browser pairs', async () => {
    const first = await openBrowser(api, account, 'admin');
    const second = await openBrowser(api, account, 'admin');
    const options = await ask({ by: first });
    // To join does not take over.
    await post('', second);
    for (const other of [second, client]) {
      expect((await read(other)).passkey).toMatchObject({ options: null });
      expect(refusal(await answer(phone.assert(options), other))).toEqual([403, 'forbidden']);
    }
    leavesNothing();
    expect((await answer(phone.assert(options), first)).status).toBe(200);
    await showCode();
    for (const other of [second, client]) expect(refusal(await confirm(other))).toEqual([403, 'forbidden']);
    expect((await confirm(first)).status).toBe(200);
  });

  test('the second of two answers at once', async () => {
    const options = await ask();
    let isAwaited = true;
    engine.handlers.passkey = () => {
      const first = isAwaited;
      isAwaited = false;
      return first ? {} : new CommandRefusal('passkey_not_awaited');
    };
    const both = await Promise.all([answer(phone.assert(options)), answer(phone.assert(options))]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

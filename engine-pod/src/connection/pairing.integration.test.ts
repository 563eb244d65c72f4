import { randomUUID } from 'node:crypto';
import { Phones } from '@gwk/test/support/gateway/phones';
import type { PairingUpdate, OpenPairing, StateChange } from '@gwk/core/protocol/engine';
import { EXIT_CODES } from '../exit-codes.js';
import { until } from '@gwk/test/support/engine/engine-process';
import { Stage } from '@gwk/test/support/engine/stage';

let stage: Awaited<ReturnType<typeof Stage.openInProcess>>;
let phones: Phones;
beforeEach(async () => {
  phones = new Phones();
  stage = await Stage.openInProcess({ renewMs: 500, beside: phones });
  stage.api.state = 'pending_pair';
});
afterEach(() => stage.close());

const wanted = (change: Partial<OpenPairing> = {}): OpenPairing => ({
  session: randomUUID(),
  method: 'qr',
  phone: null,
  ...change,
});
const shown = (kind?: PairingUpdate['kind']): PairingUpdate[] =>
  stage.api
    .of('pairing')
    .map(({ body }) => body['news'] as PairingUpdate)
    .filter((news) => kind === undefined || news.kind === kind);
const paired = (): StateChange['paired'][] => stage.changes.flatMap((change) => change.paired ?? []);
const scan = () => phones.do(stage.api.instanceId, { kind: 'scan' });
const credentials = () => stage.api.session.get('me');

/** Launches an engine that waits for a pairing. */
async function launch(): Promise<void> {
  const engine = stage.launch();
  const ready = () => stage.api.of('renew').length > 0;
  await until('the engine has its lease', ready).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}\n${engine.log}`);
  });
}

describe('sandbox after logout', () => {
  test('waits for a pairing request, shows a QR code, pairs, reconnects and connects', async () => {
    await launch();
    expect(shown()).toEqual([]);
    stage.api.pairing = wanted();
    expect(await stage.command('pair', { args: JSON.stringify(stage.api.pairing) })).toMatchObject({
      ok: true,
    });
    await until('a QR is shown', () => shown('qr').length === 1);
    expect(shown()[0]).toMatchObject({ kind: 'qr', expires_in_ms: 20_000 });
    expect(stage.states).toEqual([]);
    scan();
    await until('it is connected', () => stage.states.includes('connected'));
    expect(stage.states).toEqual(['connecting', 'connected']);
    expect(paired()).toMatchObject([{ platform: 'sandbox' }]);
    expect(credentials()).toBeDefined();
  });

  test('shows a session at the start that was opened before the engine came', async () => {
    stage.api.pairing = wanted();
    stage.launch();
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('serves a session with the next renewal when its command was lost', async () => {
    await launch();
    stage.api.pairing = wanted();
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('shows a new QR code each time, six at most; then the session fails and the instance waits', async () => {
    phones.terms = { codes: 6, codeMs: 100 };
    stage.api.pairing = wanted();
    await launch();
    await until('the session has failed', () => shown('failed').length === 1);
    expect(new Set(shown('qr').map((news) => 'code' in news && news.code)).size).toBe(6);
    expect(shown('failed')).toEqual([{ kind: 'failed', reason: 'codes_unread' }]);
    expect(stage.states).toEqual([]);
  });

  test('stores pairing updates one after the other, however long each takes', async () => {
    phones.terms = { codes: 3, codeMs: 100 };
    stage.api.pairing = wanted();
    const served = jest.spyOn(phones, 'serve');
    /** The driver waits for somebody to scan the last code: all codes are shown. */
    const isLast = () => served.mock.calls.filter(([{ url }]) => url === '/event').length === 3;
    let [underWay, most] = [0, 0];
    stage.api.fault = async ({ route }) => {
      if (route === 'pairing') {
        most = Math.max(most, ++underWay);
        await until('the last code is there to show', isLast);
        underWay -= 1;
      }
      return 'answer' as const;
    };
    await launch();
    await until('the session has failed', () => shown('failed').length === 1);
    expect(most).toBe(1);
    // The session is still requested, so a renewal of the lease may restart it.
    const kinds = shown().map(({ kind }) => kind);
    expect(kinds.slice(0, kinds.indexOf('failed') + 1)).toEqual(['qr', 'qr', 'qr', 'failed']);
  });

  test('shows a code of eight characters with the method code, and links the device', async () => {
    stage.api.pairing = wanted({ method: 'code', phone: '5511987654321' });
    await launch();
    await until('a code is shown', () => shown('code').length === 1);
    expect(shown('code')).toMatchObject([{ code: expect.stringMatching(/^[0-9A-Z]{8}$/) as string }]);
    scan();
    await until('it is connected', () => stage.states.includes('connected'));
  });

  test('shows another session again, and the network may refuse it', async () => {
    stage.api.pairing = wanted();
    await launch();
    await until('a QR is shown', () => shown('qr').length === 1);
    stage.api.pairing = wanted({ method: 'code', phone: '5511987654321' });
    await stage.command('pair', { args: JSON.stringify(stage.api.pairing) });
    await until('a code is shown', () => shown('code').length === 1);
    phones.do(stage.api.instanceId, { kind: 'refuse', reason: 'passkey_required' });
    await until('the session has failed', () => shown('failed').length === 1);
    expect(shown('failed')).toEqual([{ kind: 'failed', reason: 'passkey_required' }]);
  });

  test('shows nothing more once the session is closed', async () => {
    phones.terms = { codes: 6, codeMs: 200 };
    stage.api.pairing = wanted();
    await launch();
    await until('a QR is shown', () => shown('qr').length > 0);
    stage.api.pairing = null;
    const before = shown().length;
    await until('the next is not wanted', () => shown().length === before + 1);
    const answer = await stage.command('live');
    expect(answer).toMatchObject({ result: { state: 'pending_pair', connected: false } });
    expect(shown()).toHaveLength(before + 1);
  });

  test('refuses to pair a paired instance', async () => {
    stage.api.state = 'connecting';
    await stage.start();
    const reply = await stage.command('pair', { args: JSON.stringify(wanted()) });
    expect(reply).toMatchObject({ ok: false, code: 'already-paired' });
    expect(shown()).toEqual([]);
  });
});

describe('logout', () => {
  test('unlinks and forgets the device on command, and ignores what the network reports about it', async () => {
    stage.api.state = 'connecting';
    await stage.start();
    expect(await stage.command('logout')).toMatchObject({ ok: true, result: { unlinked: true } });
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    expect(credentials()).toBeUndefined();
    expect(stage.states.slice(-1)).toEqual(['pending_pair: logout']);
  });

  test('unlinks at the next connection when requested without an engine, and reports it before a new pairing', async () => {
    stage.api.session.set('me', Buffer.from(JSON.stringify({ jid: '1@s' })).toString('base64'));
    stage.api.unlink = randomUUID();
    stage.api.pairing = wanted();
    await launch();
    await until('the logout is reported', () => stage.api.of('unlinked').length === 1);
    expect(stage.api.of('unlinked')[0]!.body).toMatchObject({ id: stage.api.unlink });
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    await until('a QR is shown', () => shown('qr').length === 1);
    expect(stage.states).toEqual([]);
  });

  test('pairs nothing until the API knows of the logout', async () => {
    stage.api.unlink = randomUUID();
    stage.api.pairing = wanted();
    let known = false;
    stage.api.fault = async ({ route }): Promise<'answer'> => {
      if (route === 'unlinked') await until('the test says so', () => known);
      return 'answer';
    };
    await launch();
    await until('the logout is reported', () => stage.api.of('unlinked').length === 1);
    await until('it renews on', () => stage.api.of('renew').length >= 3);
    expect(shown()).toEqual([]);
    known = true;
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('finds a missed logout request with the next renewal', async () => {
    stage.api.state = 'connecting';
    await stage.start();
    stage.api.unlink = randomUUID();
    await until('the logout is reported', () => stage.api.of('unlinked').length === 1);
    expect(stage.states.slice(-1)).toEqual(['pending_pair: logout']);
    expect(stage.api.of('unlinked')).toHaveLength(1);
  });

  test('unlinks a deleted instance before the engine exits', async () => {
    stage.api.state = 'connecting';
    const engine = await stage.start();
    stage.api.fault = ({ route }) => (route === 'renew' ? 'gone' : 'answer');
    expect(await engine.exited).toBe(EXIT_CODES.gone);
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    expect(stage.api.of('unlinked')).toMatchObject([{ body: { id: null } }]);
  });
});

describe('actions of the phone and the network', () => {
  test.each([
    [{ kind: 'unlink', reason: 'device_removed' } as const, 'logged_out: device_removed'],
    [{ kind: 'ban', code: '402', expires_at: null } as const, 'banned: 402'],
    [{ kind: 'drop', reason: 'connection_lost' } as const, 'disconnected: connection_lost'],
  ])('%o', async (event, state) => {
    stage.api.state = 'connecting';
    await stage.start();
    phones.do(stage.api.instanceId, event);
    await until(state, () => stage.states.includes(state));
  });
});

describe('requests to the current connection', () => {
  test('sends contact checks, read marks and presence to the network', async () => {
    stage.api.state = 'connecting';
    await stage.start();
    const check = (phone: string) => stage.command('check-contact', { args: JSON.stringify({ phone }) });
    expect(await check('5511987654321')).toMatchObject({ result: { jid: '5511987654321@s.whatsapp.net' } });
    expect(await check('5511987650000')).toMatchObject({ ok: true, result: { jid: null } });
    for (const [lid, jid] of [
      ['20000000001@lid', '20000000001@lid'],
      ['20000000000@lid', null],
    ] as const) {
      expect(await stage.command('check-contact', { args: JSON.stringify({ lid }) })).toMatchObject({
        result: { jid, lid },
      });
    }
    const chat = '5511987654321@s.whatsapp.net';
    const messages = [{ wa_message_id: 'WA1', participant: null }];
    expect(await stage.command('read', { args: JSON.stringify({ chat, messages }) })).toMatchObject({
      ok: true,
    });
    const presence = JSON.stringify({ chat, state: 'typing' });
    expect(await stage.command('presence', { args: presence })).toMatchObject({ ok: true });
    expect(phones.signals.slice(4)).toMatchObject([
      { kind: 'read', chat, messages },
      { kind: 'presence', chat, presence: 'typing' },
    ]);
  });

  test('answers that a sandbox is in no group', async () => {
    stage.api.state = 'connecting';
    await stage.start();
    const list = JSON.stringify({ after: null, limit: 51 });
    expect(await stage.command('groups', { args: list })).toMatchObject({
      result: { items: [], next: null },
    });
    const group = JSON.stringify({ jid: '120363000000000001@g.us', after: null });
    expect(await stage.command('group', { args: group })).toMatchObject({ ok: false, code: 'wa_error' });
  });

  test('refuses them without a connection', async () => {
    await launch();
    const args = JSON.stringify({ phone: '5511987654321', chat: 'x', messages: [], state: 'typing' });
    for (const name of ['check-contact', 'read', 'presence', 'groups', 'group'] as const) {
      expect(await stage.command(name, { args })).toMatchObject({ ok: false, code: 'not_connected' });
    }
  });
});

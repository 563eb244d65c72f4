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
  stage.port.state = 'pending_pair';
});
afterEach(() => stage.close());

const wanted = (change: Partial<OpenPairing> = {}): OpenPairing => ({
  session: randomUUID(),
  method: 'qr',
  phone: null,
  ...change,
});
const shown = (kind?: PairingUpdate['kind']): PairingUpdate[] =>
  stage.port
    .of('pairing')
    .map(({ body }) => body['news'] as PairingUpdate)
    .filter((news) => kind === undefined || news.kind === kind);
const paired = (): StateChange['paired'][] => stage.changes.flatMap((change) => change.paired ?? []);
const scan = () => phones.do(stage.port.instanceId, { kind: 'scan' });
const credentials = () => stage.port.session.get('me');

/** As an engine that waits for somebody. */
async function launch(): Promise<void> {
  const engine = stage.launch();
  const ready = () => stage.port.of('renew').length > 0;
  await until('the engine has its lease', ready).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}\n${engine.log}`);
  });
}

describe('sandbox after logout', () => {
  test('waits until a pairing is wanted, then shows a QR, is paired, called back, and connected', async () => {
    await launch();
    expect(shown()).toEqual([]);
    stage.port.pairing = wanted();
    expect(await stage.command('pair', { args: JSON.stringify(stage.port.pairing) })).toMatchObject({
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

  test('a session that was open before the engine came is shown at its start', async () => {
    stage.port.pairing = wanted();
    stage.launch();
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('a bell that was lost is made up for by the next renewal', async () => {
    await launch();
    stage.port.pairing = wanted();
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('a new QR for each time, six at most, then the session has failed and the number waits', async () => {
    phones.terms = { codes: 6, codeMs: 100 };
    stage.port.pairing = wanted();
    await launch();
    await until('the session has failed', () => shown('failed').length === 1);
    expect(new Set(shown('qr').map((news) => 'code' in news && news.code)).size).toBe(6);
    expect(shown('failed')).toEqual([{ kind: 'failed', reason: 'codes_unread' }]);
    expect(stage.states).toEqual([]);
  });

  test('what there is to show is told one after the other, however long each takes', async () => {
    phones.terms = { codes: 3, codeMs: 100 };
    stage.port.pairing = wanted();
    const served = jest.spyOn(phones, 'serve');
    /** The driver waits for somebody to read the last code: all of them are there to show. */
    const isLast = () => served.mock.calls.filter(([{ url }]) => url === '/event').length === 3;
    let [underWay, most] = [0, 0];
    stage.port.fault = async ({ route }) => {
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
    // The session is still wanted, so a renewal of the lease may begin it anew.
    const kinds = shown().map(({ kind }) => kind);
    expect(kinds.slice(0, kinds.indexOf('failed') + 1)).toEqual(['qr', 'qr', 'qr', 'failed']);
  });

  test('with the method code there is a code of eight characters, and it links as well', async () => {
    stage.port.pairing = wanted({ method: 'code', phone: '5511987654321' });
    await launch();
    await until('a code is shown', () => shown('code').length === 1);
    expect(shown('code')).toMatchObject([{ code: expect.stringMatching(/^[0-9A-Z]{8}$/) as string }]);
    scan();
    await until('it is connected', () => stage.states.includes('connected'));
  });

  test('another session is shown anew, and the network may refuse it', async () => {
    stage.port.pairing = wanted();
    await launch();
    await until('a QR is shown', () => shown('qr').length === 1);
    stage.port.pairing = wanted({ method: 'code', phone: '5511987654321' });
    await stage.command('pair', { args: JSON.stringify(stage.port.pairing) });
    await until('a code is shown', () => shown('code').length === 1);
    phones.do(stage.port.instanceId, { kind: 'refuse', reason: 'passkey_required' });
    await until('the session has failed', () => shown('failed').length === 1);
    expect(shown('failed')).toEqual([{ kind: 'failed', reason: 'passkey_required' }]);
  });

  test('once nobody waits for the session any more, nothing more is shown', async () => {
    phones.terms = { codes: 6, codeMs: 200 };
    stage.port.pairing = wanted();
    await launch();
    await until('a QR is shown', () => shown('qr').length > 0);
    stage.port.pairing = null;
    const before = shown().length;
    await until('the next is not wanted', () => shown().length === before + 1);
    const answer = await stage.command('live');
    expect(answer).toMatchObject({ result: { state: 'pending_pair', connected: false } });
    expect(shown()).toHaveLength(before + 1);
  });

  test('a paired number refuses to pair', async () => {
    stage.port.state = 'connecting';
    await stage.start();
    const reply = await stage.command('pair', { args: JSON.stringify(wanted()) });
    expect(reply).toMatchObject({ ok: false, code: 'already-paired' });
    expect(shown()).toEqual([]);
  });
});

describe('logout', () => {
  test('by command: unlinked on the network, forgotten, and waiting; what the network says of it is no news', async () => {
    stage.port.state = 'connecting';
    await stage.start();
    expect(await stage.command('logout')).toMatchObject({ ok: true, result: { unlinked: true } });
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    expect(credentials()).toBeUndefined();
    expect(stage.states.slice(-1)).toEqual(['pending_pair: logout']);
  });

  test('decided without an engine: done at the next connection, and reported, before a new pairing', async () => {
    stage.port.session.set('me', Buffer.from(JSON.stringify({ jid: '1@s' })).toString('base64'));
    stage.port.unlink = randomUUID();
    stage.port.pairing = wanted();
    await launch();
    await until('the logout is reported', () => stage.port.of('unlinked').length === 1);
    expect(stage.port.of('unlinked')[0]!.body).toMatchObject({ id: stage.port.unlink });
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    await until('a QR is shown', () => shown('qr').length === 1);
    expect(stage.states).toEqual([]);
  });

  test('until the rows know of it, nothing is paired: it would be taken for the old link', async () => {
    stage.port.unlink = randomUUID();
    stage.port.pairing = wanted();
    let known = false;
    stage.port.fault = async ({ route }): Promise<'answer'> => {
      if (route === 'unlinked') await until('the test says so', () => known);
      return 'answer';
    };
    await launch();
    await until('the logout is reported', () => stage.port.of('unlinked').length === 1);
    await until('it renews on', () => stage.port.of('renew').length >= 3);
    expect(shown()).toEqual([]);
    known = true;
    await until('a QR is shown', () => shown('qr').length === 1);
  });

  test('that the engine did not hear of is found with the next renewal', async () => {
    stage.port.state = 'connecting';
    await stage.start();
    stage.port.unlink = randomUUID();
    await until('the logout is reported', () => stage.port.of('unlinked').length === 1);
    expect(stage.states.slice(-1)).toEqual(['pending_pair: logout']);
    expect(stage.port.of('unlinked')).toHaveLength(1);
  });

  test('of a number that was deleted happens before the engine ends', async () => {
    stage.port.state = 'connecting';
    const engine = await stage.start();
    stage.port.fault = ({ route }) => (route === 'renew' ? 'gone' : 'answer');
    expect(await engine.exited).toBe(EXIT_CODES.gone);
    expect(phones.signals).toMatchObject([{ kind: 'unlink' }]);
    expect(stage.port.of('unlinked')).toMatchObject([{ body: { id: null } }]);
  });
});

describe('what the phone and the network do', () => {
  test.each([
    [{ kind: 'unlink', reason: 'device_removed' } as const, 'logged_out: device_removed'],
    [{ kind: 'ban', code: '402', expires_at: null } as const, 'banned: 402'],
    [{ kind: 'drop', reason: 'connection_lost' } as const, 'disconnected: connection_lost'],
  ])('%o', async (event, state) => {
    stage.port.state = 'connecting';
    await stage.start();
    phones.do(stage.port.instanceId, event);
    await until(state, () => stage.states.includes(state));
  });
});

describe('what is asked of the connection as it stands', () => {
  test('contacts, read marks and presence reach the network', async () => {
    stage.port.state = 'connecting';
    await stage.start();
    const check = (phone: string) => stage.command('check-contact', { args: JSON.stringify({ phone }) });
    expect(await check('5511987654321')).toMatchObject({ result: { jid: '5511987654321@s.whatsapp.net' } });
    expect(await check('5511987650000')).toMatchObject({ ok: true, result: { jid: null } });
    const chat = '5511987654321@s.whatsapp.net';
    const messages = [{ wa_message_id: 'WA1', participant: null }];
    expect(await stage.command('read', { args: JSON.stringify({ chat, messages }) })).toMatchObject({
      ok: true,
    });
    const presence = JSON.stringify({ chat, state: 'typing' });
    expect(await stage.command('presence', { args: presence })).toMatchObject({ ok: true });
    expect(phones.signals.slice(2)).toMatchObject([
      { kind: 'read', chat, messages },
      { kind: 'presence', chat, presence: 'typing' },
    ]);
  });

  test('without a connection they are refused', async () => {
    await launch();
    const args = JSON.stringify({ phone: '5511987654321', chat: 'x', messages: [], state: 'typing' });
    for (const name of ['check-contact', 'read', 'presence'] as const) {
      expect(await stage.command(name, { args })).toMatchObject({ ok: false, code: 'not-connected' });
    }
  });
});

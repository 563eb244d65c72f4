import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { InstanceState } from '@gwk/core/states';
import type { Disconnect } from '../driver/driver.js';
import { restoreMachine, step, type Input, type Machine, type Step } from './machine.js';

const AT = Date.parse('2026-01-01T12:00:00Z');
const device = { jid: '5500@s', business_name: null, platform: 'sandbox' };
const wanted: OpenPairing = { session: 'one', method: 'qr', phone: null };
const pair: Input = { kind: 'pair', pairing: wanted };
const qr: Input = { kind: 'qr', code: 'x', expiresInMs: 20_000 };
const paired: Input = { kind: 'paired', device };
const open: Input = { kind: 'opened', jid: device.jid, lid: '7@lid', business_name: null };
const closed = (disconnect: Disconnect): Input => ({ kind: 'closed', disconnect });
const drop = closed({ kind: 'dropped', reason: 'lost' });
const timer: Input = { kind: 'timer' };

/** Ten minutes between inputs, so that every delay has passed. */
function run(state: InstanceState, inputs: Input[], everyMs = 600_000): { machine: Machine; steps: Step[] } {
  const from = { state, banned_until: null, reconnect_count: 0, reconnect_at: null };
  let machine = restoreMachine(from, AT);
  const steps = inputs.map((input, i) => {
    const result = step(machine, input, { at: AT + i * everyMs, random: 1 });
    machine = result.machine;
    return result;
  });
  return { machine, steps };
}

const socketsOf = (steps: Step[]) => steps.map(({ socket }) => socket);
const summarise = (steps: Step[]) =>
  steps.flatMap(({ changes }) =>
    changes.map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`)),
  );
const failuresOf = (steps: Step[]) => steps.flatMap(({ failed }) => (failed ? [failed] : []));

describe('a pairing session', () => {
  test.each<InstanceState>(['pending_pair', 'logged_out'])(
    'opens a socket for an instance in state %s',
    (state) => {
      const { machine, steps } = run(state, [pair, qr, qr]);
      expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'keep']);
      expect(summarise(steps)).toEqual([]);
      expect(machine).toMatchObject({ state, pairing: wanted });
    },
  );

  test.each<InstanceState>(['connecting', 'connected', 'disconnected', 'banned'])(
    'does nothing in state %s, because a device is linked',
    (state) => {
      const { machine, steps } = run(state, [pair]);
      expect(steps).toMatchObject([{ socket: 'keep', changes: [] }]);
      expect(machine.pairing).toBeNull();
    },
  );

  test('ignores a second request for the same session; another session restarts it', () => {
    const another: Input = { kind: 'pair', pairing: { ...wanted, session: 'two' } };
    const { machine, steps } = run('pending_pair', [pair, pair, another]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'reopen']);
    expect(machine.pairing?.session).toBe('two');
    expect(failuresOf(steps)).toEqual([]);
  });

  test('shows new codes once other accounts may link', () => {
    const only = { jid: '5500@s', lid: null };
    const asked = [only, only, null].map((account): Input => {
      return { kind: 'pair', pairing: { ...wanted, account } };
    });
    const { steps } = run('logged_out', asked);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'reopen']);
  });

  test.each<[InstanceState, string[]]>([
    ['pending_pair', ['logged_out: other_account']],
    ['logged_out', []],
  ])('in state %s ends logged out when another account is refused', (state, changes) => {
    const refused = closed({ kind: 'pairing-failed', reason: 'other_account' });
    const { machine, steps } = run(state, [pair, qr, refused]);
    expect(failuresOf(steps)).toEqual([{ session: 'one', reason: 'other_account' }]);
    expect(summarise(steps)).toEqual(changes);
    expect(machine).toMatchObject({ state: 'logged_out', reason: 'other_account', pairing: null });
    expect(steps.at(-1)!.socket).toBe('close');
  });

  test('ends at once if another engine has asked for a passkey in it', () => {
    const asked: Input = { kind: 'pair', pairing: { ...wanted, passkey_asked: true } };
    const { machine, steps } = run('pending_pair', [asked]);
    expect(socketsOf(steps)).toEqual(['keep']);
    expect(failuresOf(steps)).toEqual([{ session: 'one', reason: 'passkey_interrupted' }]);
    expect(machine.pairing).toBeNull();
  });

  test('goes on while the engine itself waits for the passkey', () => {
    const asked: Input = { kind: 'pair', pairing: { ...wanted, passkey_asked: true } };
    const passkey: Input = {
      kind: 'passkey',
      options: { challenge: 'AA', rpId: 'whatsapp.com' },
      expiresInMs: 600_000,
    };
    const compare: Input = { kind: 'passkey-code', code: 'ABCD-1234', expiresInMs: 600_000 };
    const { machine, steps } = run('pending_pair', [pair, qr, passkey, asked, compare, asked]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'keep', 'keep', 'keep', 'keep']);
    expect(failuresOf(steps)).toEqual([]);
    expect(machine.pairing).toEqual(wanted);
  });

  test('ends with the device: paired, reconnected, connected', () => {
    const back = closed({ kind: 'dropped', reason: '515', reconnect: 'at-once' });
    const { machine, steps } = run('pending_pair', [pair, qr, paired, back, open]);
    expect(summarise(steps)).toEqual(['connecting', 'connected']);
    expect(steps[2]!.changes).toMatchObject([{ paired: device, jid: device.jid }]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'keep', 'reopen', 'keep']);
    expect(machine.pairing).toBeNull();
    expect(failuresOf(steps)).toEqual([]);
  });

  test.each<[string, Disconnect, string]>([
    ['nobody read its codes', { kind: 'pairing-failed', reason: 'codes_unread' }, 'codes_unread'],
    ['the network refuses', { kind: 'logged-out', reason: '401' }, '401'],
    ['the client is too old', { kind: 'dropped', reason: '405', reconnect: 'slowly' }, '405'],
  ])('fails when %s, and the state stays', (_case, how, reason) => {
    const { machine, steps } = run('logged_out', [pair, qr, closed(how), timer]);
    expect(failuresOf(steps)).toEqual([{ session: 'one', reason }]);
    expect(summarise(steps)).toEqual([]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'close', 'keep']);
    expect(machine).toMatchObject({ state: 'logged_out', pairing: null });
  });

  test.each<[string, Disconnect, string | undefined]>([
    ['the client is too old', { kind: 'dropped', reason: '405', reconnect: 'slowly' }, '405'],
    ['it is lost, and tried again', { kind: 'dropped', reason: 'lost' }, 'lost'],
    ['nobody read its codes', { kind: 'pairing-failed', reason: 'codes_unread' }, 'codes_unread'],
    ['the network refuses', { kind: 'logged-out', reason: '401' }, '401'],
    ['another one has taken over', { kind: 'replaced' }, 'replaced'],
    ['the network calls back', { kind: 'dropped', reason: '515', reconnect: 'at-once' }, undefined],
    ['none for a ban, which is a state change', { kind: 'banned', code: '406', expiresAt: null }, undefined],
  ])('reports why its connection ended without a state change: %s', (_case, how, reason) => {
    const { steps } = run('pending_pair', [pair, closed(how)]);
    expect(steps.map(({ ended }) => ended)).toEqual([undefined, reason]);
  });

  test('ends with a ban', () => {
    const how: Disconnect = { kind: 'banned', code: '406', expiresAt: null };
    const { steps } = run('pending_pair', [pair, closed(how)]);
    expect(summarise(steps)).toEqual(['banned: 406']);
    expect(failuresOf(steps)).toEqual([{ session: 'one', reason: 'banned: 406' }]);
  });

  test('survives three consecutive drops; each code resets the count', () => {
    const again = [drop, timer];
    const { steps } = run('pending_pair', [pair, ...again, ...again, qr, ...again, ...again, ...again, drop]);
    expect(socketsOf(steps).filter((socket) => socket === 'reopen')).toHaveLength(6);
    expect(failuresOf(steps)).toEqual([{ session: 'one', reason: 'lost' }]);
  });

  test('waits longer after each drop', () => {
    const { machine } = run('pending_pair', [pair, drop, timer], 0);
    expect(machine).toMatchObject({ wakeAt: AT + 1_000, pairing: wanted });
  });

  test('reconnects at once when the network asks for it', () => {
    const back = closed({ kind: 'dropped', reason: '515', reconnect: 'at-once' });
    expect(socketsOf(run('pending_pair', [pair, back]).steps)).toEqual(['reopen', 'reopen']);
  });

  test('ends when this session is closed, not when another one is', () => {
    const other: Input = { kind: 'unpair', session: 'two' };
    const { machine, steps } = run('pending_pair', [pair, other, { kind: 'unpair', session: 'one' }]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep', 'close']);
    expect(machine.pairing).toBeNull();
    expect(failuresOf(steps)).toEqual([]);
  });

  test('ends with a logout', () => {
    const { machine, steps } = run('logged_out', [pair, { kind: 'logout' }]);
    expect(machine).toMatchObject({ state: 'pending_pair', pairing: null });
    expect(summarise(steps)).toEqual(['pending_pair: logout']);
  });

  test('has no socket while the lease is not confirmed, and one again afterwards', () => {
    const { steps } = run('pending_pair', [pair, { kind: 'forbidden' }, timer, { kind: 'permitted' }]);
    expect(socketsOf(steps)).toEqual(['reopen', 'close', 'keep', 'reopen']);
  });

  test('waits until a socket is permitted', () => {
    const { steps } = run('pending_pair', [{ kind: 'forbidden' }, pair, { kind: 'permitted' }]);
    expect(socketsOf(steps)).toEqual(['close', 'keep', 'reopen']);
  });
});

describe('restart', () => {
  test('keeps the open session as it is', () => {
    const { machine, steps } = run('pending_pair', [pair, { kind: 'restart' }]);
    expect(socketsOf(steps)).toEqual(['reopen', 'keep']);
    expect(machine.pairing).toEqual(wanted);
  });

  test('respects the end of a ban', () => {
    const until = new Date(AT + 60_000).toISOString();
    const stored = { state: 'banned', banned_until: until, reconnect_count: 0, reconnect_at: null } as const;
    const result = step(restoreMachine(stored, AT), { kind: 'restart' }, { at: AT, random: 0 });
    expect(result).toMatchObject({ socket: 'keep', changes: [] });
  });
});

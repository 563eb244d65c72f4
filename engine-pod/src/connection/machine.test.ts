import type { InstanceState } from '@gwk/core/states';
import type { Disconnect } from '../driver/driver.js';
import { restoreMachine, step, type Input, type Machine, type StoredState } from './machine.js';

const AT = Date.parse('2026-01-01T12:00:00Z');
const later = (ms: number): string => new Date(AT + ms).toISOString();
const device = { jid: '5500@s', business_name: null, platform: 'sandbox' };

const stored = (state: InstanceState, change: Partial<StoredState> = {}): StoredState => ({
  state,
  banned_until: null,
  reconnect_count: 0,
  reconnect_at: null,
  ...change,
});

const open: Input = { kind: 'opened', jid: '5500@s', lid: '7@lid', business_name: null };
const drop: Input = { kind: 'closed', disconnect: { kind: 'dropped', reason: 'lost' } };

/** Runs inputs one second apart and summarises the stored changes and socket actions. */
function run(
  from: StoredState,
  inputs: Input[],
  everyMs = 1_000,
): { machine: Machine; reports: string[]; socket: string[] } {
  let machine = restoreMachine(from, AT);
  const reports: string[] = [];
  const socket: string[] = [];
  inputs.forEach((input, i) => {
    const result = step(machine, input, { at: AT + i * everyMs, random: 1 });
    machine = result.machine;
    reports.push(
      ...result.changes.map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`)),
    );
    socket.push(result.socket);
  });
  return { machine, reports, socket };
}

const start: Input = { kind: 'start' };

describe('at the start', () => {
  test.each<[string, StoredState, string[], string]>([
    ['a new sandbox connects, and its state stays as it is', stored('connecting'), [], 'open'],
    [
      'an instance that was connected in another engine reconnects',
      stored('connected'),
      ['connecting'],
      'open',
    ],
    ['disconnected reconnects', stored('disconnected'), ['connecting'], 'open'],
    ['disconnected waits until its time', stored('disconnected', { reconnect_at: later(1) }), [], 'keep'],
    ['and not beyond it', stored('disconnected', { reconnect_at: later(0) }), ['connecting'], 'open'],
    ['an unpaired instance waits', stored('pending_pair'), [], 'keep'],
    ['a logged out instance waits', stored('logged_out'), [], 'keep'],
    ['a ban without end waits', stored('banned'), [], 'keep'],
    ['a ban that goes on waits', stored('banned', { banned_until: later(1) }), [], 'keep'],
    ['a ban that has ended does not', stored('banned', { banned_until: later(0) }), ['connecting'], 'open'],
  ])('%s', (_case, from, reports, socket) => {
    const result = run(from, [start]);
    expect(result.reports).toEqual(reports);
    expect(result.socket).toEqual([socket]);
  });
});

const closed = (disconnect: Disconnect): Input => ({ kind: 'closed', disconnect });
const back = closed({ kind: 'dropped', reason: '515', reconnect: 'at-once' });
const unlinked = closed({ kind: 'logged-out', reason: 'removed' });
const banned = closed({ kind: 'banned', code: '402', expiresAt: null });
const replaced = closed({ kind: 'replaced' });

describe('inputs that change the state', () => {
  test.each<{ when: string; from: InstanceState; input: Input; reports: string[]; socket: string }>([
    { when: 'opened', from: 'connecting', input: open, reports: ['connected'], socket: 'keep' },
    { when: 'opened after it was closed', from: 'disconnected', input: open, reports: [], socket: 'keep' },
    { when: 'dropped', from: 'connected', input: drop, reports: ['disconnected: lost'], socket: 'close' },
    { when: 'refused', from: 'connecting', input: drop, reports: ['disconnected: lost'], socket: 'close' },
    {
      when: 'called back at once',
      from: 'connected',
      input: back,
      reports: ['connecting: 515'],
      socket: 'reopen',
    },
    {
      when: 'unlinked by the phone',
      from: 'connected',
      input: unlinked,
      reports: ['logged_out: removed'],
      socket: 'close',
    },
    { when: 'banned', from: 'connected', input: banned, reports: ['banned: 402'], socket: 'close' },
    {
      when: 'replaced',
      from: 'connected',
      input: replaced,
      reports: ['disconnected: replaced'],
      socket: 'close',
    },
    {
      when: 'the lease is not confirmed',
      from: 'connected',
      input: { kind: 'forbidden' },
      reports: ['disconnected: lease_unconfirmed'],
      socket: 'close',
    },
    {
      when: 'the same without a socket',
      from: 'banned',
      input: { kind: 'forbidden' },
      reports: [],
      socket: 'close',
    },
    {
      when: 'stopped',
      from: 'connected',
      input: { kind: 'stop' },
      reports: ['disconnected: engine_stopped'],
      socket: 'close',
    },
    {
      when: 'stopped while it waits',
      from: 'disconnected',
      input: { kind: 'stop' },
      reports: [],
      socket: 'close',
    },
    {
      when: 'restarted',
      from: 'connected',
      input: { kind: 'restart' },
      reports: ['disconnected: restart', 'connecting'],
      socket: 'reopen',
    },
    {
      when: 'restarted while it waits',
      from: 'disconnected',
      input: { kind: 'restart' },
      reports: [],
      socket: 'keep',
    },
    {
      when: 'restarted during a ban',
      from: 'banned',
      input: { kind: 'restart' },
      reports: [],
      socket: 'keep',
    },
    {
      when: 'logged out',
      from: 'connected',
      input: { kind: 'logout' },
      reports: ['pending_pair: logout'],
      socket: 'close',
    },
    {
      when: 'logged out during a ban',
      from: 'banned',
      input: { kind: 'logout' },
      reports: ['pending_pair: logout'],
      socket: 'close',
    },
    {
      when: 'shown a QR',
      from: 'pending_pair',
      input: { kind: 'qr', code: 'x', expiresInMs: 1 },
      reports: [],
      socket: 'keep',
    },
    { when: 'dropped by a closed socket', from: 'pending_pair', input: drop, reports: [], socket: 'keep' },
  ])('$when, when $from', ({ from, input, reports, socket }) => {
    const result = run(stored(from), [input]);
    expect(result.reports).toEqual(reports);
    expect(result.socket).toEqual([socket]);
  });
});

describe('reconnecting', () => {
  test('doubles the delay after each consecutive failure, and stores the time', () => {
    const { machine, reports } = run(stored('connecting'), [
      start,
      drop,
      { kind: 'timer' },
      { kind: 'timer' },
      drop,
    ]);
    expect(reports).toEqual(['disconnected: lost', 'connecting', 'disconnected: lost']);
    expect(machine).toMatchObject({ failures: 2, wakeAt: AT + 4_000 + 2_000 });
    const { changes } = step(restoreMachine(stored('connected'), AT), drop, { at: AT, random: 1 });
    expect(changes[0]!.reconnect).toEqual({ count: 1, at: later(1_000) });
  });

  test('resets the count after a connection of one minute, not after a shorter one', () => {
    const from = stored('disconnected', { reconnect_count: 7 });
    expect(run(from, [start, open, drop], 1_000).machine.failures).toBe(8);
    expect(run(from, [start, open, drop], 60_000).machine.failures).toBe(1);
  });

  test('continues the count in a new engine', () => {
    const from = stored('disconnected', { reconnect_count: 3, reconnect_at: later(500) });
    const { machine } = run(from, [start, { kind: 'timer' }, drop]);
    expect(machine.failures).toBe(4);
  });

  test('reconnects slowly after a rejected version', () => {
    const disconnect = { kind: 'dropped', reason: '405', reconnect: 'slowly' } as const;
    expect(run(stored('connecting'), [start, { kind: 'closed', disconnect }]).machine.wakeAt).toBe(
      AT + 1_000 + 60_000,
    );
  });

  describe('after a rejected version', () => {
    const rejected = { kind: 'dropped', reason: 'version_rejected_405', reconnect: 'slowly' } as const;
    const closed = { kind: 'closed', disconnect: rejected } as const;
    const found = { kind: 'version-found' } as const;

    test('reconnects at once when another is known', () => {
      const { reports, socket } = run(stored('connecting'), [start, closed, found]);
      expect(reports.slice(-2)).toEqual(['disconnected: version_rejected_405', 'connecting']);
      expect(socket.at(-1)).toBe('open');
    });

    test('a new engine knows that its instance waits for one', () => {
      const from = stored('disconnected', {
        state_reason: 'version_expected',
        reconnect_count: 3,
        reconnect_at: later(3_000_000),
      });
      const { reports, machine } = run(from, [start, found]);
      expect([reports, machine.failures]).toEqual([['connecting'], 3]);
    });

    test.each([
      ['connected', {}],
      ['connecting', {}],
      ['banned', { state_reason: 'version_rejected_405' }],
      ['pending_pair', {}],
      ['disconnected', { state_reason: 'connection_closed', reconnect_at: later(3_000_000) }],
      ['disconnected', { state_reason: null, reconnect_at: later(3_000_000) }],
    ] as const)('another version changes nothing for %s %j', (state, given) => {
      const { reports, socket } = run(stored(state, given), [found]);
      expect([reports, socket]).toEqual([[], ['keep']]);
    });

    test('a version that is found without a lease waits for it', () => {
      const { socket } = run(stored('connecting'), [start, closed, { kind: 'forbidden' }, found]);
      expect(socket.at(-1)).toBe('keep');
    });
  });

  test('opens nothing until the lease is confirmed', () => {
    const { reports, socket } = run(stored('connected'), [
      { kind: 'forbidden' },
      { kind: 'timer' },
      { kind: 'restart' },
      { kind: 'permitted' },
    ]);
    expect(reports).toEqual(['disconnected: lease_unconfirmed', 'connecting']);
    expect(socket).toEqual(['close', 'keep', 'keep', 'open']);
  });
});

describe('pairing', () => {
  test('is reported with the next state change', () => {
    const reports = [start, { kind: 'paired', device } as const, open].reduce<{
      machine: Machine;
      changes: unknown[];
    }>(
      ({ machine, changes }, input) => {
        const result = step(machine, input, { at: AT, random: 0 });
        return { machine: result.machine, changes: [...changes, ...result.changes] };
      },
      { machine: restoreMachine(stored('connecting'), AT), changes: [] },
    );
    expect(reports.changes).toMatchObject([{ state: 'connected', paired: device, jid: device.jid }]);
    expect(reports.machine.paired).toBeNull();
  });

  test('moves a waiting instance to connecting', () => {
    const { changes } = step(
      restoreMachine(stored('pending_pair'), AT),
      { kind: 'paired', device },
      { at: AT, random: 0 },
    );
    expect(changes).toMatchObject([{ state: 'connecting', paired: device }]);
  });

  test('is not reported by a connection without one', () => {
    const { changes } = step(restoreMachine(stored('connecting'), AT), open, { at: AT, random: 0 });
    expect(changes[0]).not.toHaveProperty('paired');
  });
});

test('stores the code and the end of a ban, and reconnects at its end', () => {
  const expiresAt = new Date(AT + 5_000);
  const { machine, changes } = step(
    restoreMachine(stored('connected'), AT),
    { kind: 'closed', disconnect: { kind: 'banned', code: '402', expiresAt } },
    { at: AT, random: 0 },
  );
  expect(changes).toMatchObject([{ state: 'banned', ban: { code: '402', expires_at: later(5_000) } }]);
  expect(machine.wakeAt).toBe(AT + 5_000);
});

import type { StateChange } from '@gwk/core/protocol/engine';
import type { InstanceState } from '@gwk/core/states';
import { backoffDelay } from '../backoff.js';
import type { Closed, ConnectionEvent, PairedDevice } from '../driver/driver.js';

/**
 * The state of an instance, as its engine decides it. Stored states, and what moves between them:
 *
 *                       start, timer, permitted
 *     disconnected ────────────────────────────────▶ connecting ◀──── paired ──── pending_pair
 *        ▲   ▲                                         │     │                        ▲
 *        │   └──── dropped, restart, forbidden, stop ──┘     │ opened                 │ logout (API),
 *        │                                                   ▼                        │ from any state
 *        └──────── dropped, restart, forbidden, stop ──── connected
 *
 *     connecting, connected ── logged-out by the phone ──▶ logged_out
 *     connecting, connected ── banned ──▶ banned ── timer, at its end ──▶ connecting
 *
 * - `disconnected` goes on to `connecting` by itself: after a delay that doubles with each failure in a row. A
 *   connection that lasted a minute ends the row. Count and time are stored with the state, and a new engine obeys
 *   what it finds; so a crash, a move or a restart never hurries a reconnect.
 * - `pending_pair`, `logged_out`, and `banned` without an end wait for somebody outside.
 * - Forbidden (the lease is not confirmed): no socket, whatever the state, until permitted again.
 * - A pairing is told with the change that follows it, at the latest with `connected`, because a change to the state
 *   that already holds tells nothing.
 */
export interface Machine {
  readonly state: InstanceState;
  readonly reason: string | null;
  /** When the state began, on the wall clock (milliseconds). */
  readonly since: number;
  /** Failures in a row. */
  readonly failures: number;
  /** When `disconnected` or `banned` ends by itself, on the wall clock. */
  readonly wakeAt: number | null;
  /** The lease permits a socket. */
  readonly permitted: boolean;
  /** Not yet told. */
  readonly paired: PairedDevice | null;
}

export type Input =
  | ConnectionEvent
  | { kind: 'start' }
  | { kind: 'timer' }
  | { kind: 'forbidden' }
  | { kind: 'permitted' }
  | { kind: 'restart' }
  | { kind: 'logout' }
  | { kind: 'stop' };

export interface Step {
  machine: Machine;
  /** What to store, in order. */
  changes: StateChange[];
  socket: 'keep' | 'open' | 'close' | 'reopen';
}

export interface Now {
  /** Wall clock, milliseconds. */
  at: number;
  /** From 0 to 1. */
  random: number;
}

const STEADY_MS = 60_000;
const RECONNECT = { first: 1_000, most: 300_000 };
/** After the network has rejected this version of the client: nothing gets better by hurrying. */
const RECONNECT_SLOWLY = { first: 60_000, most: 3_600_000 };

export interface StoredState {
  state: InstanceState;
  banned_until: string | null;
  reconnect_count: number;
  reconnect_at: string | null;
}

/** The machine as the row has it, before `start`. */
export function machineOf(stored: StoredState, at: number): Machine {
  const wakes = stored.state === 'banned' ? stored.banned_until : stored.reconnect_at;
  return {
    state: stored.state,
    reason: null,
    since: at,
    failures: stored.reconnect_count,
    wakeAt: wakes === null ? null : Date.parse(wakes),
    permitted: true,
    paired: null,
  };
}

export function step(machine: Machine, input: Input, now: Now): Step {
  switch (input.kind) {
    case 'start':
    case 'timer':
      return wake(machine, now);
    case 'permitted':
      return wake({ ...machine, permitted: true }, now);
    case 'forbidden':
      return hangUp({ ...machine, permitted: false }, 'lease_unconfirmed', now);
    case 'stop':
      return hangUp({ ...machine, permitted: false }, 'engine_stopped', now);
    case 'restart':
      return restart(machine, now);
    case 'logout':
      return logout(machine, now);
    case 'qr':
      return keep(machine);
    case 'paired':
      return paired(machine, input.device, now);
    case 'opened':
      return opened(machine, input, now);
    case 'closed':
      return closed(machine, input.how, now);
  }
}

function keep(machine: Machine): Step {
  return { machine, changes: [], socket: 'keep' };
}

interface Entering {
  state: InstanceState;
  reason: string | null;
  socket: Step['socket'];
  wakeAt?: number | null;
  change?: Partial<StateChange>;
}

/** The only place that changes the state, and so the only one that tells of it. */
function enter(machine: Machine, entering: Entering, now: Now): Step {
  const { state, reason, socket, wakeAt = null, change } = entering;
  const next: Machine = { ...machine, state, reason, since: now.at, wakeAt, paired: null };
  if (state === machine.state && machine.paired === null) {
    return { machine: { ...next, since: machine.since }, changes: [], socket };
  }
  const told: StateChange = {
    state,
    at: new Date(now.at).toISOString(),
    reason,
    reconnect: {
      count: machine.failures,
      at: wakeAt === null || state === 'banned' ? null : new Date(wakeAt).toISOString(),
    },
    ...(machine.paired && {
      paired: machine.paired,
      jid: machine.paired.jid,
      business_name: machine.paired.business_name,
    }),
    ...change,
  };
  return { machine: next, changes: [told], socket };
}

function wake(machine: Machine, now: Now): Step {
  if (!machine.permitted || machine.state === 'pending_pair' || machine.state === 'logged_out')
    return keep(machine);
  const { state, wakeAt } = machine;
  if (state === 'banned' && wakeAt === null) return keep(machine);
  if ((state === 'banned' || state === 'disconnected') && wakeAt !== null && wakeAt > now.at)
    return keep(machine);
  return enter(machine, { state: 'connecting', reason: null, socket: 'open' }, now);
}

function hasSocket(machine: Machine): boolean {
  return machine.state === 'connecting' || machine.state === 'connected';
}

function hangUp(machine: Machine, reason: string, now: Now): Step {
  if (!hasSocket(machine)) return { machine, changes: [], socket: 'close' };
  return enter(machine, { state: 'disconnected', reason, socket: 'close' }, now);
}

/** Obeys what is waited for: a ban, a reconnect time, a pairing. */
function restart(machine: Machine, now: Now): Step {
  if (!hasSocket(machine)) return keep(machine);
  const down = enter(machine, { state: 'disconnected', reason: 'restart', socket: 'close' }, now);
  const up = wake(down.machine, now);
  return { ...up, changes: [...down.changes, ...up.changes], socket: 'reopen' };
}

function logout(machine: Machine, now: Now): Step {
  const unlinked = { ...machine, failures: 0, paired: null };
  const change = { jid: null, business_name: null };
  return enter(unlinked, { state: 'pending_pair', reason: 'logout', socket: 'close', change }, now);
}

function paired(machine: Machine, device: PairedDevice, now: Now): Step {
  const knowing = { ...machine, paired: device };
  if (machine.state === 'connecting') return keep(knowing);
  return enter(knowing, { state: 'connecting', reason: null, socket: 'keep' }, now);
}

function opened(machine: Machine, input: { jid: string; business_name: string | null }, now: Now): Step {
  if (!machine.permitted || machine.state !== 'connecting') return keep(machine);
  const change = { jid: input.jid, business_name: input.business_name };
  return enter(machine, { state: 'connected', reason: null, socket: 'keep', change }, now);
}

function closed(machine: Machine, how: Closed, now: Now): Step {
  if (!hasSocket(machine)) return keep(machine);
  switch (how.kind) {
    case 'logged-out':
      return enter(machine, { state: 'logged_out', reason: how.reason, socket: 'close' }, now);
    case 'banned': {
      const ban = { code: how.code, expires_at: how.expiresAt?.toISOString() ?? null };
      const wakeAt = how.expiresAt?.getTime() ?? null;
      return enter(
        machine,
        { state: 'banned', reason: how.code, socket: 'close', wakeAt, change: { ban } },
        now,
      );
    }
    case 'replaced':
      return hangUp({ ...machine, permitted: false }, 'replaced', now);
    case 'dropped':
      return dropped(machine, how, now);
  }
}

function dropped(machine: Machine, how: Closed & { kind: 'dropped' }, now: Now): Step {
  if (how.reconnect === 'at-once') {
    return enter(machine, { state: 'connecting', reason: how.reason, socket: 'reopen' }, now);
  }
  const steady = machine.state === 'connected' && now.at - machine.since >= STEADY_MS;
  const failures = steady ? 1 : machine.failures + 1;
  const pace = how.reconnect === 'slowly' ? RECONNECT_SLOWLY : RECONNECT;
  const wakeAt = now.at + backoffDelay(pace, failures, now.random);
  return enter(
    { ...machine, failures },
    { state: 'disconnected', reason: how.reason, socket: 'close', wakeAt },
    now,
  );
}

import { isDeepStrictEqual } from 'node:util';
import type { OpenPairing, StateChange } from '@gwk/core/protocol/engine';
import { OTHER_ACCOUNT, type InstanceState } from '@gwk/core/states';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Disconnect, ConnectionEvent, PairedDevice } from '../driver/driver.js';

/**
 * The state of an instance, decided by its engine. Stored states and their transitions:
 *
 *                        start, timer, permitted
 *     disconnected ────────────────────────────────▶ connecting ◀──── paired ──── pending_pair
 *        ▲   ▲                                         │     │                        ▲
 *        │   └──── dropped, restart, forbidden, stop ──┘     │ opened                 │ logout (API),
 *        │                                                   ▼                        │ from any state
 *        └──────── dropped, restart, forbidden, stop ──── connected
 *
 *     connecting, connected ── logged-out by the phone ──▶ logged_out
 *     connecting, connected ── banned ──▶ banned ── timer, at its end ──▶ connecting
 *
 * - `disconnected` becomes `connecting` after a delay that doubles with each consecutive failure. A connection that
 *   lasted 60 s resets the count. Count and time are stored with the state, and a new engine obeys them, so a crash,
 *   a move or a restart never speeds up a reconnect.
 * - `pending_pair`, `logged_out`, and `banned` without an end wait for an external request.
 * - A pairing session opens a socket in `pending_pair` and `logged_out`. It does not change the state until the phone
 *   has linked the device. It ends with the link, with a logout, or when the codes expire. If the socket drops
 *   meanwhile, it is reopened up to 3 times. The refusal of another account ends it in `logged_out`. A session in which
 *   a passkey was asked for ends with its socket.
 * - The network refused the client version: `disconnected` with a delay of a minute to an hour. Each renewal of the
 *   lease asks for another version, which ends the delay.
 * - Forbidden (lease not confirmed): no socket in any state, until permitted again.
 * - A pairing is reported with the next state change, at the latest with `connected`, because an unchanged state is
 *   not reported.
 */
export interface Machine {
  readonly state: InstanceState;
  readonly reason: string | null;
  /** Start of the state, wall clock in milliseconds. */
  readonly since: number;
  /** Consecutive failures. */
  readonly failures: number;
  /** Time at which `disconnected` or `banned` ends by itself, wall clock in milliseconds. */
  readonly wakeAt: number | null;
  /** The lease permits a socket. */
  readonly permitted: boolean;
  /** Linked, but not yet reported. */
  readonly paired: PairedDevice | null;
  /** The open pairing session. */
  readonly pairing: OpenPairing | null;
}

export type Input =
  | ConnectionEvent
  | { kind: 'start' }
  | { kind: 'timer' }
  | { kind: 'forbidden' }
  | { kind: 'permitted' }
  | { kind: 'restart' }
  /** A client version is known that the network may accept. */
  | { kind: 'version-found' }
  | { kind: 'pair'; pairing: OpenPairing }
  /** The session was closed from outside. */
  | { kind: 'unpair'; session: string }
  | { kind: 'logout' }
  | { kind: 'stop' };

export interface Step {
  machine: Machine;
  /** State changes to store, in order. */
  changes: StateChange[];
  socket: 'keep' | 'open' | 'close' | 'reopen';
  /** Reason of a connection that ended without a state change. */
  ended?: string;
  /** A pairing session that ended without a linked device. */
  failed?: { session: string; reason: string };
}

interface Now {
  /** Wall clock in milliseconds. */
  at: number;
  /** From 0 to 1. */
  random: number;
}

const STABLE_MS = 60_000;
const RECONNECT = { firstMs: 1_000, maxMs: 300_000 };
/** After the network rejected this client version. Hurrying does not help. */
const RECONNECT_SLOWLY = { firstMs: 60_000, maxMs: 3_600_000 };
/** Consecutive drops that a pairing session survives. */
const PAIRING_DROPS = 3;

export interface StoredState {
  state: InstanceState;
  state_reason?: string | null | undefined;
  banned_until: string | null;
  reconnect_count: number;
  reconnect_at: string | null;
}

/** The machine as stored in Postgres, before `start`. */
export function restoreMachine(stored: StoredState, at: number): Machine {
  const wakes = stored.state === 'banned' ? stored.banned_until : stored.reconnect_at;
  return {
    state: stored.state,
    reason: stored.state_reason ?? null,
    since: at,
    failures: stored.reconnect_count,
    wakeAt: wakes === null ? null : Date.parse(wakes),
    permitted: true,
    paired: null,
    pairing: null,
  };
}

type Handlers = {
  [K in Input['kind']]: (machine: Machine, input: Extract<Input, { kind: K }>, now: Now) => Step;
};

const HANDLERS: Handlers = {
  start: (machine, _, now) => wake(machine, now),
  timer: (machine, _, now) => wake(machine, now),
  permitted: (machine, _, now) => wake({ ...machine, permitted: true }, now),
  forbidden: (machine, _, now) => closeSocket({ ...machine, permitted: false }, 'lease_unconfirmed', now),
  stop: (machine, _, now) => closeSocket({ ...machine, permitted: false }, 'engine_stopped', now),
  qr: (machine) => keepState({ ...machine, failures: 0 }),
  'pairing-code': (machine) => keepState({ ...machine, failures: 0 }),
  passkey: (machine) => keepState(machine),
  'passkey-code': (machine) => keepState(machine),
  paired: (machine, { device }, now) => paired(machine, device, now),
  opened,
  closed: (machine, { disconnect }, now) => closed(machine, disconnect, now),
  restart: (machine, _, now) => restart(machine, now),
  'version-found': (machine, _, now) =>
    awaitsVersion(machine) ? wake({ ...machine, wakeAt: null }, now) : keepState(machine),
  logout: (machine, _, now) => logout(machine, now),
  pair: (machine, { pairing }) => pair(machine, pairing),
  unpair: (machine, { session }) =>
    machine.pairing?.session === session ? endPairing(machine) : keepState(machine),
};

export function step(machine: Machine, input: Input, now: Now): Step {
  const handle = HANDLERS[input.kind] as (machine: Machine, input: Input, now: Now) => Step;
  return handle(machine, input, now);
}

function keepState(machine: Machine, socket: Step['socket'] = 'keep'): Step {
  return { machine, changes: [], socket };
}

interface Transition {
  state: InstanceState;
  reason: string | null;
  socket: Step['socket'];
  wakeAt?: number | null;
  change?: Partial<StateChange>;
}

/** The only place that changes the state, and therefore the only one that reports a change. */
function enter(machine: Machine, transition: Transition, now: Now): Step {
  const { state, reason, socket, wakeAt = null, change } = transition;
  const next: Machine = { ...machine, state, reason, since: now.at, wakeAt, paired: null };
  if (state === machine.state && machine.paired === null) {
    return keepState({ ...next, since: machine.since }, socket);
  }
  const report: StateChange = {
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
  return { machine: next, changes: [report], socket };
}

/** Whether the network has refused the client version of the last connection, or none was there to try. */
export const awaitsVersion = ({ state, reason }: Pick<Machine, 'state' | 'reason'>): boolean =>
  state === 'disconnected' && reason !== null && reason.startsWith('version_');

function isUnpaired({ state }: Machine): boolean {
  return state === 'pending_pair' || state === 'logged_out';
}

function wake(machine: Machine, now: Now): Step {
  if (!machine.permitted) return keepState(machine);
  const { state, wakeAt } = machine;
  if (isUnpaired(machine)) {
    const waits = machine.pairing === null || (wakeAt !== null && wakeAt > now.at);
    return waits ? keepState(machine) : keepState({ ...machine, wakeAt: null }, 'reopen');
  }
  if (state === 'banned' && wakeAt === null) return keepState(machine);
  if ((state === 'banned' || state === 'disconnected') && wakeAt !== null && wakeAt > now.at)
    return keepState(machine);
  return enter(machine, { state: 'connecting', reason: null, socket: 'open' }, now);
}

function hasSocket(machine: Machine): boolean {
  return machine.state === 'connecting' || machine.state === 'connected';
}

function closeSocket(machine: Machine, reason: string, now: Now): Step {
  if (!hasSocket(machine)) return keepState(machine, 'close');
  return enter(machine, { state: 'disconnected', reason, socket: 'close' }, now);
}

/** Respects a pending ban, reconnect time or pairing. */
function restart(machine: Machine, now: Now): Step {
  if (!hasSocket(machine)) return keepState(machine);
  const disconnected = enter(machine, { state: 'disconnected', reason: 'restart', socket: 'close' }, now);
  const reconnecting = wake(disconnected.machine, now);
  return { ...reconnecting, changes: [...disconnected.changes, ...reconnecting.changes], socket: 'reopen' };
}

/**
 * Asking for the same session again, for example with the next renewal, changes nothing. If the accounts that may link have
 * changed meanwhile, new codes are shown.
 */
function pair(machine: Machine, pairing: OpenPairing): Step {
  if (!isUnpaired(machine)) return keepState(machine);
  const isOpen = machine.pairing?.session === pairing.session;
  if (isOpen && isDeepStrictEqual(machine.pairing?.account, pairing.account)) return keepState(machine);
  if (pairing.passkey_asked) {
    const failed = { session: pairing.session, reason: 'passkey_interrupted' };
    return { ...keepState({ ...machine, pairing: null }, isOpen ? 'close' : 'keep'), failed };
  }
  const next = { ...machine, pairing, failures: 0, wakeAt: null };
  return keepState(next, machine.permitted ? 'reopen' : 'keep');
}

function endPairing(machine: Machine, reason?: string): Step {
  const { pairing } = machine;
  const ended = keepState({ ...machine, pairing: null, failures: 0, wakeAt: null }, 'close');
  return pairing && reason !== undefined ? { ...ended, failed: { session: pairing.session, reason } } : ended;
}

function logout(machine: Machine, now: Now): Step {
  const unlinked = { ...machine, failures: 0, paired: null, pairing: null };
  const change = { jid: null, lid: null, business_name: null };
  return enter(unlinked, { state: 'pending_pair', reason: 'logout', socket: 'close', change }, now);
}

function paired(machine: Machine, device: PairedDevice, now: Now): Step {
  const known = { ...machine, paired: device, pairing: null };
  if (machine.state === 'connecting') return keepState(known);
  return enter(known, { state: 'connecting', reason: null, socket: 'keep' }, now);
}

type Opened = Extract<Input, { kind: 'opened' }>;

function opened(machine: Machine, { jid, lid, business_name }: Opened, now: Now): Step {
  if (!machine.permitted || machine.state !== 'connecting') return keepState(machine);
  const change = { jid, lid, business_name };
  return enter(machine, { state: 'connected', reason: null, socket: 'keep', change }, now);
}

function closed(machine: Machine, disconnect: Disconnect, now: Now): Step {
  if (machine.pairing && isUnpaired(machine))
    return { ...closedWhilePairing(machine, disconnect, now), ...findUnreportedEnd(disconnect) };
  if (!hasSocket(machine)) return keepState(machine);
  switch (disconnect.kind) {
    case 'logged-out':
      return enter(machine, { state: 'logged_out', reason: disconnect.reason, socket: 'close' }, now);
    case 'banned':
      return banned(machine, disconnect, now);
    case 'replaced':
      return closeSocket({ ...machine, permitted: false }, 'replaced', now);
    case 'pairing-failed':
      return dropped(machine, { kind: 'dropped', reason: disconnect.reason }, now);
    case 'dropped':
      return dropped(machine, disconnect, now);
  }
}

function findUnreportedEnd(disconnect: Disconnect): Pick<Step, 'ended'> {
  if (disconnect.kind === 'banned' || (disconnect.kind === 'dropped' && disconnect.reconnect === 'at-once'))
    return {};
  return { ended: disconnect.kind === 'replaced' ? 'replaced' : disconnect.reason };
}

function closedWhilePairing(machine: Machine, disconnect: Disconnect, now: Now): Step {
  switch (disconnect.kind) {
    case 'pairing-failed':
    case 'logged-out':
      if (disconnect.reason === OTHER_ACCOUNT) return refuseAccount(machine, now);
      return endPairing(machine, disconnect.reason);
    case 'banned': {
      const { failed } = endPairing(machine, `banned: ${disconnect.code}`);
      return { ...banned({ ...machine, pairing: null }, disconnect, now), ...(failed && { failed }) };
    }
    case 'replaced':
      return closeSocket({ ...machine, permitted: false, pairing: null }, 'replaced', now);
    case 'dropped': {
      if (disconnect.reconnect === 'at-once') return keepState(machine, 'reopen');
      const failures = machine.failures + 1;
      if (failures > PAIRING_DROPS || disconnect.reconnect === 'slowly')
        return endPairing(machine, disconnect.reason);
      const wakeAt = now.at + backoffDelay(RECONNECT, failures, now.random);
      return keepState({ ...machine, failures, wakeAt }, 'close');
    }
  }
}

function refuseAccount(machine: Machine, now: Now): Step {
  const { machine: ended, failed } = endPairing(machine, OTHER_ACCOUNT);
  const refused = enter(ended, { state: 'logged_out', reason: OTHER_ACCOUNT, socket: 'close' }, now);
  return { ...refused, ...(failed && { failed }) };
}

function banned(machine: Machine, disconnect: Disconnect & { kind: 'banned' }, now: Now): Step {
  const ban = { code: disconnect.code, expires_at: disconnect.expiresAt?.toISOString() ?? null };
  const wakeAt = disconnect.expiresAt?.getTime() ?? null;
  return enter(
    machine,
    { state: 'banned', reason: disconnect.code, socket: 'close', wakeAt, change: { ban } },
    now,
  );
}

function dropped(machine: Machine, disconnect: Disconnect & { kind: 'dropped' }, now: Now): Step {
  if (disconnect.reconnect === 'at-once') {
    return enter(machine, { state: 'connecting', reason: disconnect.reason, socket: 'reopen' }, now);
  }
  const steady = machine.state === 'connected' && now.at - machine.since >= STABLE_MS;
  const failures = steady ? 1 : machine.failures + 1;
  const pace = disconnect.reconnect === 'slowly' ? RECONNECT_SLOWLY : RECONNECT;
  const wakeAt = now.at + backoffDelay(pace, failures, now.random);
  return enter(
    { ...machine, failures },
    { state: 'disconnected', reason: disconnect.reason, socket: 'close', wakeAt },
    now,
  );
}

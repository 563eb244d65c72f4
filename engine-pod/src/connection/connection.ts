import type { PairingUpdate, OpenPairing, StateChange } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/process/log';
import type { InstanceState } from '@gwk/core/states';
import { PasskeyNotAwaited, type ConnectionEvent, type Driver, type PasskeyStep } from '../driver/driver.js';
import {
  awaitsVersion,
  restoreMachine,
  step,
  type Input,
  type Machine,
  type StoredState,
} from './machine.js';

export interface ConnectionOptions {
  driver: Driver;
  stored: StoredState;
  log: Logger;
  /** Resolves once a state change is stored. Changes are stored in the order in which they happened. */
  storeState: (change: StateChange) => Promise<void>;
  /** A connection of a pairing session ended. This changes no state, so `storeState` does not report it. */
  ended: (reason: string) => void;
  /** Stores an update of a pairing session. Resolves to whether the session is still open. */
  storePairing: (session: string, update: PairingUpdate) => Promise<boolean>;
  /** Reports whether the connection can carry messages. */
  openChanged: (open: boolean) => void;
  /** Another connection with the same credentials took over. */
  replaced: () => void;
}

/** Longest timer, in milliseconds. Node fires a timer beyond 2^31 ms at once. */
const MAX_TIMER_MS = 24 * 3_600_000;

/**
 * Runs the driver's connection by the state machine in machine.ts. Every input goes through `handle`.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #machine: Machine;
  /** Number of the current socket. Events of older sockets are ignored. */
  #socket = 0;
  #closing: Promise<void> = Promise.resolve();
  /** Resolves once the API knows which account was linked. Until then it takes messages of a former one for its own. */
  #pairingStored: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#machine = restoreMachine(options.stored, Date.now());
  }

  get state(): InstanceState {
    return this.#machine.state;
  }
  get since(): Date {
    return new Date(this.#machine.since);
  }
  get open(): boolean {
    return this.#machine.state === 'connected';
  }

  /** Whether the instance is offline until another client version is known, or its delay has ended. */
  get awaitsVersion(): boolean {
    return awaitsVersion(this.#machine);
  }

  /** Returns false when a device is already linked. */
  pair(pairing: OpenPairing): boolean {
    this.handle({ kind: 'pair', pairing });
    return this.#machine.pairing !== null;
  }

  /** @throws PasskeyNotAwaited */
  async takePasskey(session: string, step: PasskeyStep): Promise<void> {
    if (this.#machine.pairing?.session !== session) throw new PasskeyNotAwaited();
    await this.#options.driver.takePasskey(step);
  }

  /** Resolves once the socket is closed, to whether the network unlinked the device. */
  async logout(): Promise<boolean> {
    // Ignore what the network reports about a device that is being unlinked.
    this.#socket += 1;
    const unlinked = await this.#options.driver.logout().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'logout failed; the device may still be linked');
      return false;
    });
    this.handle({ kind: 'logout' });
    await this.#closing;
    return unlinked;
  }

  /** Resolves once the socket is closed. It stays closed. */
  async stop(): Promise<void> {
    this.handle({ kind: 'stop' });
    await this.#closing;
  }

  /** Sets the state, reports changes, and opens or closes the socket, as the step of the state machine says. */
  handle(input: Input): void {
    const wasOpen = this.open;
    const { machine, changes, socket, ended, failed } = step(this.#machine, input, {
      at: Date.now(),
      random: Math.random(),
    });
    this.#machine = machine;
    for (const change of changes) {
      this.#options.log.info({ state: change.state, reason: change.reason }, 'state changed');
      const stored = this.#options.storeState(change);
      if (change.paired) this.#pairingStored = stored;
    }
    if (ended !== undefined) this.#options.ended(ended);
    if (failed) this.#reportPairing(failed.session, { kind: 'failed', reason: failed.reason });
    if (socket === 'close' || socket === 'reopen') this.#close();
    if (socket === 'open' || socket === 'reopen') this.#open();
    this.#startTimer();
    if (wasOpen !== this.open || socket === 'reopen') this.#options.openChanged(this.open);
  }

  #open(): void {
    const socket = ++this.#socket;
    void Promise.all([this.#closing, this.#pairingStored]).then(() => {
      if (socket !== this.#socket) return;
      this.#options.driver.connect((event) => {
        if (socket === this.#socket) this.#handleEvent(event);
      }, this.#machine.pairing);
    });
  }

  #close(): void {
    this.#socket += 1;
    this.#closing = this.#options.driver.close().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'socket did not close cleanly');
    });
  }

  #handleEvent(event: ConnectionEvent): void {
    const { pairing } = this.#machine;
    const update = pairing && toUpdate(event);
    if (update) this.#reportPairing(pairing.session, update);
    this.handle(event);
    if (event.kind === 'closed' && event.disconnect.kind === 'replaced') this.#options.replaced();
  }

  #reportPairing(session: string, update: PairingUpdate): void {
    this.#options.log.info({ session, news: update.kind }, 'pairing');
    this.#options.storePairing(session, update).then(
      (open) => {
        if (!open) this.handle({ kind: 'unpair', session });
      },
      () => undefined,
    );
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    const { wakeAt, permitted } = this.#machine;
    if (wakeAt === null || !permitted) return;
    const delay = Math.min(MAX_TIMER_MS, Math.max(0, wakeAt - Date.now()));
    this.#timer = setTimeout(() => this.handle({ kind: 'timer' }), delay);
  }
}

/** The update of the pairing session that an event makes. */
function toUpdate(event: ConnectionEvent): PairingUpdate | null {
  switch (event.kind) {
    case 'qr':
      return { kind: 'qr', code: event.code, expires_in_ms: event.expiresInMs };
    case 'pairing-code':
      return { kind: 'code', code: event.code, expires_in_ms: event.expiresInMs };
    case 'passkey':
      return { kind: 'passkey', options: event.options, expires_in_ms: event.expiresInMs };
    case 'passkey-code':
      return { kind: 'passkey_code', code: event.code, expires_in_ms: event.expiresInMs };
    default:
      return null;
  }
}

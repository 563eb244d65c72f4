import type { StateChange } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/log';
import type { InstanceState } from '@gwk/core/states';
import type { ConnectionEvent, Driver } from '../driver/driver.js';
import { machineOf, step, type Input, type Machine, type StoredState } from './machine.js';

export interface ConnectionOptions {
  driver: Driver;
  stored: StoredState;
  log: Logger;
  /** Has a change stored; changes are told in the order in which they happened. */
  tell: (change: StateChange) => void;
  /** The connection can carry messages, or no longer can. */
  changed: (open: boolean) => void;
  /** Another connection took the number over. */
  replaced: () => void;
}

/** Longest sleep of one timer; beyond 2^31 ms Node would fire it at once. */
const MAX_TIMER_MS = 24 * 3_600_000;

/**
 * The driver's connection, run by the machine of machine.ts: every input goes through `#handle`, which is the one
 * setter, tells what changed, and does to the socket what the step says.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #machine: Machine;
  /** Each socket has a number: what an older one still says is not heard. */
  #socket = 0;
  #closing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#machine = machineOf(options.stored, Date.now());
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

  start(): void {
    this.#handle({ kind: 'start' });
  }
  /** The lease is not confirmed: no socket from now on. */
  forbid(): void {
    this.#handle({ kind: 'forbidden' });
  }
  permit(): void {
    this.#handle({ kind: 'permitted' });
  }
  restart(): void {
    this.#handle({ kind: 'restart' });
  }

  async logout(): Promise<void> {
    await this.#options.driver.logout();
    this.#handle({ kind: 'logout' });
    await this.#closing;
  }

  /** Resolves once the socket is closed; it stays closed. */
  async stop(): Promise<void> {
    this.#handle({ kind: 'stop' });
    await this.#closing;
  }

  #handle(input: Input): void {
    const wasOpen = this.open;
    const { machine, changes, socket } = step(this.#machine, input, {
      at: Date.now(),
      random: Math.random(),
    });
    this.#machine = machine;
    for (const change of changes) {
      this.#options.log.info({ state: change.state, reason: change.reason }, 'state changed');
      this.#options.tell(change);
    }
    if (socket === 'close' || socket === 'reopen') this.#close();
    if (socket === 'open' || socket === 'reopen') this.#open();
    this.#armTimer();
    if (wasOpen !== this.open || socket === 'reopen') this.#options.changed(this.open);
  }

  #open(): void {
    const socket = ++this.#socket;
    void this.#closing.then(() => {
      if (socket !== this.#socket) return;
      this.#options.driver.connect((event) => {
        if (socket === this.#socket) this.#heard(event);
      });
    });
  }

  #close(): void {
    this.#socket += 1;
    this.#closing = this.#options.driver.close().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the socket did not close in order');
    });
  }

  #heard(event: ConnectionEvent): void {
    this.#handle(event);
    if (event.kind === 'closed' && event.how.kind === 'replaced') this.#options.replaced();
  }

  #armTimer(): void {
    clearTimeout(this.#timer);
    const { wakeAt, permitted } = this.#machine;
    if (wakeAt === null || !permitted) return;
    const delay = Math.min(MAX_TIMER_MS, Math.max(0, wakeAt - Date.now()));
    this.#timer = setTimeout(() => this.#handle({ kind: 'timer' }), delay);
  }
}

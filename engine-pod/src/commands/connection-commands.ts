import type { EngineResponse, OpenPairing } from '@gwk/core/protocol/engine';
import type { Presence } from '@gwk/core/resources/live';
import type { Connection } from '../connection/connection.js';
import { SendFailure, type Driver, type ReadMessage } from '../driver/driver.js';
import { CommandError } from '../redis/command-reader.js';

export interface ConnectionCommandOptions {
  pod: string;
  connection: Connection;
  driver: Driver;
  /** The connection can carry something now. */
  open: () => boolean;
  /** Resolves once every change of the state is stored. */
  stored: () => Promise<void>;
  /** Has it stored that the logout of this id is done. */
  unlinked: (id: string) => Promise<void>;
}

/** What the rows want of the connection, as every renewal of the lease tells it. */
export type ConnectionRequests = Pick<EngineResponse<'renew'>, 'pairing' | 'unlink'>;

/**
 * What is asked of a connection as it stands: by commands, which have a deadline, and by the rows, which have not.
 * A command that was lost is made up for by the next renewal, where what it asked for is still wanted then.
 */
export class ConnectionCommands {
  readonly #options: ConnectionCommandOptions;
  /** A logout that is under way, and the last one that the rows asked for. */
  #logout: Promise<boolean> | undefined;
  #requestedLogout: string | undefined;
  /** Until the rows know of it: what is told of a link before that is taken for the old one's. */
  #logoutReported: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionCommandOptions) {
    this.#options = options;
  }

  readonly handlers = {
    live: () => this.#status(),
    restart: () => this.#options.connection.restart(),
    logout: async () => ({ unlinked: await this.logout() }),
    pair: (args: string) => this.#pair(JSON.parse(args) as OpenPairing),
    'check-contact': (args: string) => this.#checkContact(JSON.parse(args) as { phone: string }),
    read: (args: string) => this.#read(JSON.parse(args) as { chat: string; messages: ReadMessage[] }),
    presence: (args: string) => this.#presence(JSON.parse(args) as { chat: string; state: Presence }),
  };

  /** A device that is to be unlinked is unlinked before anything is paired in its place. */
  applyRequests({ pairing, unlink }: ConnectionRequests): void {
    if (unlink !== null && unlink !== this.#requestedLogout) {
      this.#requestedLogout = unlink;
      this.#logoutReported = this.logout().then(() => this.#options.unlinked(unlink).catch(() => undefined));
    }
    if (pairing !== null) void this.#waitForLogout().then(() => this.#options.connection.pair(pairing));
  }

  async #waitForLogout(): Promise<void> {
    await this.#logout;
    await this.#logoutReported;
  }

  /** Two that ask at once get one logout. */
  logout(): Promise<boolean> {
    this.#logout ??= this.#logoutAndStore().finally(() => (this.#logout = undefined));
    return this.#logout;
  }

  async #logoutAndStore(): Promise<boolean> {
    const unlinked = await this.#options.connection.logout();
    await this.#options.stored();
    return unlinked;
  }

  #status(): unknown {
    const { pod, connection } = this.#options;
    return {
      node_id: pod,
      state: connection.state,
      connected: connection.open,
      since: connection.since.toISOString(),
    };
  }

  async #pair(wanted: OpenPairing): Promise<void> {
    await this.#waitForLogout();
    if (!this.#options.connection.pair(wanted))
      throw new CommandError('already-paired', 'a device is linked');
  }

  async #checkContact({ phone }: { phone: string }): Promise<{ jid: string | null }> {
    return { jid: await this.#callDriver((driver) => driver.checkContact(phone)) };
  }

  #read({ chat, messages }: { chat: string; messages: ReadMessage[] }): Promise<void> {
    return this.#callDriver((driver) => driver.markRead(chat, messages));
  }

  #presence({ chat, state }: { chat: string; state: Presence }): Promise<void> {
    return this.#callDriver((driver) => driver.sendPresence(chat, state));
  }

  async #callDriver<T>(ask: (driver: Driver) => Promise<T>): Promise<T> {
    if (!this.#options.open()) throw new CommandError('not-connected', 'there is no connection');
    try {
      return await ask(this.#options.driver);
    } catch (error) {
      if (error instanceof SendFailure)
        throw new CommandError(error.code, 'the network did not answer, or said no');
      throw error;
    }
  }
}

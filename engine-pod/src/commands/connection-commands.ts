import {
  EDIT_FAILURES,
  PASSKEY_NOT_AWAITED,
  type OutboundEdit,
  type PasskeyCommand,
} from '@gwk/core/protocol/commands';
import type { EngineResponse, OpenPairing } from '@gwk/core/protocol/engine';
import type { GroupMemberOut } from '@gwk/core/resources/group';
import type { Presence } from '@gwk/core/resources/live';
import type { Connection } from '../connection/connection.js';
import {
  NotAdminError,
  PasskeyNotAwaited,
  SendFailure,
  type Driver,
  type ReadMessage,
} from '../driver/driver.js';
import { CommandError } from '../redis/command-reader.js';
import type { Gate } from '../sends/gate.js';
import { cutPage } from './reply-page.js';

interface ConnectionCommandOptions {
  pod: string;
  connection: Connection;
  driver: Driver;
  gate: Gate;
  /** The network limits the rate of messages. */
  rateLimited: () => void;
  ackTimeoutMs: number;
  /** Resolves once every state change is stored. */
  stored: () => Promise<void>;
  /** Stores that the logout with this id is done. */
  unlinked: (id: string) => Promise<void>;
}

/** Requests stored in Postgres. Every lease renewal returns them. */
type ConnectionRequests = Pick<EngineResponse<'renew'>, 'pairing' | 'unlink'>;

/**
 * Handles requests to the current connection. They come as commands, which have a deadline, and as stored requests,
 * which have none. If a command is lost, the next lease renewal repeats the request, if it is still wanted.
 *
 * The network gets edits, deletions and reactions at once or their command fails; nothing is queued.
 */
export class ConnectionCommands {
  readonly #options: ConnectionCommandOptions;
  /** The logout in progress, and the last logout that a stored request asked for. */
  #logout: Promise<boolean> | undefined;
  #requestedLogout: string | undefined;
  /** Resolves once the API knows of the logout. Before that, it would attribute a new pairing to the old device. */
  #logoutReported: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionCommandOptions) {
    this.#options = options;
  }

  readonly handlers = {
    live: () => this.#status(),
    restart: () => this.#options.connection.handle({ kind: 'restart' }),
    logout: async () => ({ unlinked: await this.logout() }),
    pair: (args: string) => this.#pair(JSON.parse(args) as OpenPairing),
    passkey: (args: string) => this.#takePasskey(JSON.parse(args) as PasskeyCommand),
    'check-contact': async (args: string) => {
      const { phone, lid } = JSON.parse(args) as
        { phone: string; lid?: never } | { phone?: never; lid: string };
      const found = await this.#callDriver((driver) => driver.checkContact(lid ?? phone));
      // The LID shows the API that this engine knows LIDs.
      return found ?? { jid: null, lid };
    },
    read: (args: string) => {
      const { chat, messages } = JSON.parse(args) as { chat: string; messages: ReadMessage[] };
      return this.#callDriver((driver) => driver.markRead(chat, messages));
    },
    presence: (args: string) => {
      const { chat, state } = JSON.parse(args) as { chat: string; state: Presence };
      return this.#callDriver((driver) => driver.sendPresence(chat, state));
    },
    groups: async (args: string) => {
      const page = JSON.parse(args) as { after: string | null; limit: number };
      return cutPage(await this.#callDriver((driver) => driver.listGroups()), ({ jid }) => jid, page);
    },
    group: async (args: string) => {
      const { jid, after } = JSON.parse(args) as { jid: string; after: string | null };
      const { members, ...group } = await this.#callDriver((driver) => driver.findGroup(jid));
      const { items, next } = cutPage(members, nameMember, { after, limit: members.length });
      return { group, members: items, next };
    },
    edit: (args: string) => this.#edit('edit', args),
    delete: (args: string) => this.#edit('delete', args),
    react: (args: string) => this.#edit('react', args),
  };

  /** Unlinks the old device before it pairs a new one. */
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

  /** Concurrent callers share one logout. */
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

  async #pair(pairing: OpenPairing): Promise<void> {
    await this.#waitForLogout();
    if (!this.#options.connection.pair(pairing))
      throw new CommandError('already-paired', 'a device is already linked');
  }

  async #takePasskey({ session, ...step }: PasskeyCommand): Promise<void> {
    await this.#options.connection.takePasskey(session, step).catch((error: unknown) => {
      if (!(error instanceof PasskeyNotAwaited)) throw error;
      throw new CommandError(PASSKEY_NOT_AWAITED, 'the pairing does not wait for it');
    });
  }

  #edit(kind: OutboundEdit['kind'], args: string): Promise<void> {
    const { gate, ackTimeoutMs, rateLimited } = this.#options;
    const edit = { ...(JSON.parse(args) as OutboundEdit), kind } as OutboundEdit;
    const attempt = { mayWrite: () => gate.open, signal: AbortSignal.timeout(ackTimeoutMs) };
    return this.#callDriver(async (driver) => {
      // The pause is of the phone number, so it holds for edits too.
      if (!gate.mayBegin) throw SendFailure.notWritten();
      await driver.edit(edit, attempt).catch((error: unknown) => {
        if (error instanceof SendFailure && error.limitsRate) rateLimited();
        throw error;
      });
    });
  }

  async #callDriver<T>(call: (driver: Driver) => Promise<T>): Promise<T> {
    try {
      if (!this.#options.gate.open) throw SendFailure.notWritten();
      return await call(this.#options.driver);
    } catch (error) {
      if (error instanceof NotAdminError)
        throw new CommandError(EDIT_FAILURES.notAdmin, 'the number is not an admin of the group');
      throw error instanceof SendFailure ? toCommandError(error) : error;
    }
  }
}

const nameMember = ({ lid, phone }: GroupMemberOut): string => lid ?? phone ?? '';

function toCommandError(failure: SendFailure): CommandError {
  if (!failure.certain) return new CommandError(EDIT_FAILURES.unconfirmed, 'the network did not answer');
  const code = failure.retriable ? EDIT_FAILURES.notConnected : EDIT_FAILURES.refused;
  return new CommandError(code, failure.text ?? code);
}

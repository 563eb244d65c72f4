import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Call } from './calls/calls.js';
import { Faults } from './faults/faults.js';
import { Logins } from './faults/logins.js';
import type { Group } from './groups/group.js';
import type { MediaStore } from './media/store.js';
import { Account, type Companion } from './people/account.js';
import { Directory } from './people/directory.js';
import { Handset } from './people/handset.js';
import { Inbox } from './people/inbox.js';
import { Timers } from './people/timers.js';
import { StanzaRecord } from './record/record.js';
import type { Connection } from './transport/connection.js';
import type { Certificates } from './wire/certificates.js';

export interface WorldSettings {
  /** Number of QR codes that a client may show. */
  refs: number;
  /** Number of stanzas and received messages kept for tests. */
  keep: number;
}

export interface ReceiptSeen {
  seq: number;
  at: number;
  /** Phone number of the message's sender, who receives the receipt. */
  to: string;
  from: string;
  fromDevice: number;
  ids: string[];
  /** 'delivery', 'read', 'played', 'inactive', 'sender', 'retry' and so on. */
  type: string;
}

/** A typing state of a client, as a contact or a group sees it. */
export interface TypingSeen {
  from: string;
  /** Phone number of the contact, or JID of the group. */
  to: string;
  state: 'composing' | 'recording' | 'paused';
}

/** Longer than any machine needs. Only a condition that never holds reaches it. */
const LIMIT_MS = 120_000;
/** Waiters are woken at intervals, because a check is too expensive for every stanza under load. */
const WAKE_AFTER_MS = 2;

/** State that all parts of the network share. */
export class World {
  readonly people = new Directory();
  readonly groups = new Map<string, Group>();
  readonly connections = new Set<Connection>();
  readonly inbox: Inbox;
  readonly record: StanzaRecord;
  readonly faults = new Faults();
  readonly logins = new Logins();
  readonly receipts: ReceiptSeen[] = [];
  /** By the number called and the call id. */
  readonly calls = new Map<string, Call>();
  readonly timers = new Timers();
  readonly typings: TypingSeen[] = [];
  /** Queries that the network does not simulate, for tests to check. */
  readonly unhandled: string[] = [];
  /** Protocol violations by clients. */
  readonly violations: string[] = [];
  /** Broadcast lists of messages, by author and message id. */
  readonly listed = new Map<string, string>();
  readonly changes = new EventEmitter();
  media?: MediaStore;
  /** Sent files as the phones of simulated people keep them, by the path in the message. */
  readonly keptFiles = new Map<string, Buffer>();
  #ids = 0;
  #telling?: NodeJS.Timeout;
  #turn = Promise.resolve();

  constructor(
    readonly certificates: Certificates,
    readonly settings: WorldSettings,
  ) {
    this.inbox = new Inbox(settings.keep);
    this.record = new StanzaRecord(settings.keep);
    this.changes.setMaxListeners(0);
  }

  /** A new id for a stanza or message of the network. */
  nextId(prefix = '3A'): string {
    const rest = `${Date.now().toString(16)}${(++this.#ids).toString(16).padStart(7, '0')}`;
    return `${prefix}${rest.toUpperCase()}`.padEnd(20, '0');
  }

  /** Wakes all waiters once for several changes, so that they check again. */
  changed(): void {
    if (this.#telling) return;
    this.#telling = setTimeout(() => {
      this.#telling = undefined;
      this.changes.emit('change');
    }, WAKE_AFTER_MS);
  }

  /**
   * Resolves for one caller in each turn of the event loop. Many people may decrypt the same message, and the network
   * answers its clients meanwhile.
   */
  nextTurn(): Promise<void> {
    this.#turn = this.#turn.then(() => setImmediate());
    return this.#turn;
  }

  violated(what: string): void {
    this.violations.push(what);
    this.changed();
  }

  addAccount(
    number: string,
    options: {
      name?: string;
      lid?: string;
      business?: string;
      devices?: number;
      username?: string;
      phoneHidden?: boolean;
    } = {},
  ) {
    const lid = options.lid ?? Directory.lidFor(number);
    const account = new Account(number, lid, options.name ?? `User ${number.slice(-4)}`);
    if (options.business !== undefined) account.business = options.business;
    if (options.username !== undefined) account.username = options.username;
    account.phoneHidden = options.phoneHidden ?? false;
    account.handsets.set(0, new Handset(account, 0));
    for (let extra = 1; extra < (options.devices ?? 1); extra++) {
      const id = account.nextDevice++;
      account.handsets.set(id, new Handset(account, id));
    }
    this.people.add(account);
    return account;
  }

  /** Devices that are logged in and not dismissed. */
  loggedIn(): Companion[] {
    const all = this.people.all().flatMap(({ companions }) => [...companions.values()]);
    return all.filter(({ connection }) => connection !== undefined && !connection.deaf);
  }

  /** Resolves once `look` returns a value. It is called again after every change. */
  async until<T>(look: () => T | undefined, what: string, limitMs = LIMIT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(limit);
        this.changes.off('change', check);
      };
      const check = () => {
        const found = look();
        if (found === undefined) return;
        end();
        resolve(found);
      };
      const limit = setTimeout(() => {
        end();
        reject(new Error(`waited ${limitMs / 1000} s without: ${what}`));
      }, limitMs);
      this.changes.on('change', check);
      check();
    });
  }
}

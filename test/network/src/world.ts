import { EventEmitter } from 'node:events';
import { Faults } from './faults/faults.js';
import { Logins } from './faults/logins.js';
import type { Group } from './groups/group.js';
import type { MediaStore } from './media/store.js';
import { Account, type Companion } from './people/account.js';
import { Directory } from './people/directory.js';
import { Handset } from './people/handset.js';
import { Inbox } from './people/inbox.js';
import { StanzaRecord } from './record/record.js';
import type { Connection } from './transport/connection.js';
import type { Certificates } from './wire/certificates.js';

export interface WorldSettings {
  /** How many QR codes a client gets to show. */
  refs: number;
  /** How many stanzas and received messages are kept for tests to look at. */
  keep: number;
}

export interface ReceiptSeen {
  seq: number;
  at: number;
  /** The number whose message it is about: the receiver of the receipt. */
  to: string;
  from: string;
  fromDevice: number;
  ids: string[];
  /** 'delivery', 'read', 'played', 'inactive', 'sender', 'retry' and so on. */
  type: string;
}

/** Looking costs as much as there is to look at: under load it must not be done for each stanza. */
/** Far beyond what any machine takes: only what never comes is waited for so long. */
const LIMIT_MS = 120_000;
const TELL_AFTER_MS = 2;

/** Everything that the rooms of the network share. */
export class World {
  readonly people = new Directory();
  readonly groups = new Map<string, Group>();
  readonly connections = new Set<Connection>();
  readonly inbox: Inbox;
  readonly record: StanzaRecord;
  readonly faults = new Faults();
  readonly logins = new Logins();
  readonly receipts: ReceiptSeen[] = [];
  /** Asked and not known to this network: a test must be able to see what it does not simulate. */
  readonly unhandled: string[] = [];
  /** What clients did against the protocol. */
  readonly violations: string[] = [];
  readonly changes = new EventEmitter();
  media?: MediaStore;
  /** Files that simulated people have sent, as their phones keep them: by the path that the message named. */
  readonly keptFiles = new Map<string, Buffer>();
  #ids = 0;
  #telling?: NodeJS.Timeout;

  constructor(
    readonly certificates: Certificates,
    readonly settings: WorldSettings,
  ) {
    this.inbox = new Inbox(settings.keep);
    this.record = new StanzaRecord(settings.keep);
    this.changes.setMaxListeners(0);
  }

  /** An id for a stanza or message that begins at the network's side. */
  nextId(prefix = '3A'): string {
    const rest = `${Date.now().toString(16)}${(++this.#ids).toString(16).padStart(7, '0')}`;
    return `${prefix}${rest.toUpperCase()}`.padEnd(20, '0');
  }

  /** Tells whoever waits for something that there is something to look at, at once for many changes. */
  changed(): void {
    if (this.#telling) return;
    this.#telling = setTimeout(() => {
      this.#telling = undefined;
      this.changes.emit('change');
    }, TELL_AFTER_MS);
  }

  violated(what: string): void {
    this.violations.push(what);
    this.changed();
  }

  addAccount(
    number: string,
    options: { name?: string; lid?: string; business?: string; devices?: number } = {},
  ) {
    const lid = options.lid ?? Directory.lidFor(number);
    const account = new Account(number, lid, options.name ?? `User ${number.slice(-4)}`);
    if (options.business !== undefined) account.business = options.business;
    account.handsets.set(0, new Handset(account, 0));
    for (let extra = 1; extra < (options.devices ?? 1); extra++) {
      const id = account.nextDevice++;
      account.handsets.set(id, new Handset(account, id));
    }
    this.people.add(account);
    return account;
  }

  /** Devices that the network hears, and that hear it. */
  loggedIn(): Companion[] {
    const all = this.people.all().flatMap(({ companions }) => [...companions.values()]);
    return all.filter(({ connection }) => connection !== undefined && !connection.deaf);
  }

  /** Resolves once `look` finds something, looking again at every change. */
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
        reject(new Error(`waited ${limitMs / 1000} s in vain for ${what}`));
      }, limitMs);
      this.changes.on('change', check);
      check();
    });
  }
}

import type { Connection } from '../transport/connection.js';
import type { PreKey, SignedPreKey } from '../signal/keys.js';
import { lidJid, phoneJid } from '../wire/jids.js';
import type { Node } from '../wire/nodes.js';
import type { Remembered } from '../history/history.js';
import type { Handset } from './handset.js';

/** A stanza that waits for a companion until it has said that it took it. */
export interface Mail {
  stanza: Node;
  /** Given to the connection of this id; undefined while the companion is away. */
  given?: string;
}

/** What a phone signed for a companion, and the companion for itself. */
export interface SignedIdentity {
  details: Buffer;
  accountSignature: Buffer;
  deviceSignature: Buffer;
}

/** A linked device of an account: a real client, of which the network knows what it has uploaded. */
export interface Companion {
  readonly id: number;
  readonly account: Account;
  readonly clientKey: Buffer;
  readonly identity: Buffer;
  registrationId: number;
  readonly signedIdentity: SignedIdentity;
  signedPreKey: SignedPreKey;
  preKeys: PreKey[];
  mail: Mail[];
  connection?: Connection;
  /** It has said that it takes mail. */
  active: boolean;
  /** History and keys have been sent once. */
  greeted: boolean;
  available: boolean;
}

/** How an account behaves to those who write to it. */
export interface Manners {
  /** Sends receipts of delivery by itself. */
  confirms: boolean;
  /** Reads by itself what arrives, when it has confirmed it. */
  readsAtOnce: boolean;
  /** Lets others know that it has read. */
  readReceipts: boolean;
  /** Which of its names it shows to those it writes to. */
  addressing: 'lid' | 'pn';
  /** Wants a passkey of whoever is to be linked. */
  needsPasskey: boolean;
  /** The phone answers what its linked devices ask it. */
  answersDevices: boolean;
  /** How many devices may be linked. */
  slots: number;
  /** The network refuses to link any device, with this code of a failure. */
  linksRefused: number | null;
}

export const GOOD_MANNERS: Manners = {
  confirms: true,
  readsAtOnce: false,
  readReceipts: true,
  addressing: 'lid',
  needsPasskey: false,
  answersDevices: true,
  slots: 4,
  linksRefused: null,
};

/** A number on the network: its phone (device 0), further simulated devices, and the companions linked to it. */
export class Account {
  readonly handsets = new Map<number, Handset>();
  readonly companions = new Map<number, Companion>();
  /** Numbers whose owner has written to this account: with them a conversation exists. */
  readonly receivedFrom = new Set<string>();
  business?: string;
  /** Messages of the past, which the phone tells to a device that it links. */
  readonly remembers: Remembered[] = [];
  manners: Manners = { ...GOOD_MANNERS };
  /** The network keeps what comes for its companions, as it does while they are away. */
  mailHeld = false;
  nextDevice = 1;

  constructor(
    readonly number: string,
    readonly lid: string,
    public name: string,
  ) {}

  get phone(): Handset {
    const phone = this.handsets.get(0);
    if (!phone) throw new Error(`${this.number} has no phone`);
    return phone;
  }

  /** This account's address under the name that is asked for. */
  jid(server: 'lid' | 'pn', device = 0): string {
    return server === 'lid' ? lidJid(this.lid, device) : phoneJid(this.number, device);
  }

  devices(): number[] {
    return [...this.handsets.keys(), ...this.companions.keys()];
  }
}

import type { Connection } from '../transport/connection.js';
import type { PreKey, SignedPreKey } from '../signal/keys.js';
import { lidJid, phoneJid } from '../wire/jids.js';
import { node, type Node } from '../wire/nodes.js';
import type { Remembered } from '../history/history.js';
import { Authenticator } from './authenticator.js';
import type { Handset } from './handset.js';

/** A stanza that the network keeps until the companion has confirmed it. */
export interface Mail {
  stanza: Node;
  /** Id of the connection that received it; undefined while the companion is offline. */
  given?: string;
}

/** The phone's signature for a companion, and the companion's own. */
export interface SignedIdentity {
  details: Buffer;
  accountSignature: Buffer;
  deviceSignature: Buffer;
}

/** A linked device of an account: a real client and the keys that it has uploaded. */
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
  /** Whether it has announced that it receives mail. */
  active: boolean;
  /** Whether history and keys have been sent. */
  greeted: boolean;
  available: boolean;
}

/** How an account reacts to people who write to it. */
export interface Manners {
  /** Sends delivery receipts automatically. */
  confirms: boolean;
  /** Reads messages automatically after it has confirmed them. */
  readsAtOnce: boolean;
  /** Sends read receipts. */
  readReceipts: boolean;
  /** Address type that it shows to recipients. */
  addressing: 'lid' | 'pn';
  /** Requires a passkey from a device that is to be linked. */
  needsPasskey: boolean;
  /**
   * How a linking with a passkey goes on. `refused`: by the network. `gone`: the phone does not continue. `malformed`: it
   * continues with a nonce that is too short. `code-differs`: it shows the code of another client.
   */
  passkeyEnds: 'linked' | 'refused' | 'gone' | 'malformed' | 'code-differs';
  /** Time limit of the request for a passkey. */
  passkeyMs: number;
  /** Whether the phone answers requests of its linked devices. */
  answersDevices: boolean;
  /** Maximum number of linked devices. */
  slots: number;
  /** Failure code with which the network refuses to link any device. */
  linksRefused: number | null;
  /** Error with which the network answers a request for a code to type. */
  codesRefused: 400 | 429 | null;
}

/** The device of a business at the Cloud API. */
export const HOSTED_DEVICE = 99;

export const GOOD_MANNERS: Manners = {
  confirms: true,
  readsAtOnce: false,
  readReceipts: true,
  addressing: 'lid',
  needsPasskey: false,
  passkeyEnds: 'linked',
  passkeyMs: 600_000,
  answersDevices: true,
  slots: 4,
  linksRefused: null,
  codesRefused: null,
};

/** A phone number on the network: its phone (device 0), further simulated devices, and linked companions. */
export class Account {
  #passkey?: Authenticator;
  readonly handsets = new Map<number, Handset>();
  readonly companions = new Map<number, Companion>();
  /** Phone numbers whose owner has written to this account, so that a conversation exists. */
  readonly receivedFrom = new Set<string>();
  business?: string;
  username?: string;
  /** Whether the network shows the phone number to no client. Everyone knows the account by its LID. */
  phoneHidden = false;
  /** Past messages that the phone sends to newly linked devices. */
  readonly remembers: Remembered[] = [];
  manners: Manners = { ...GOOD_MANNERS };
  /** Whether the network holds mail for the companions, as if they were offline. */
  mailHeld = false;
  nextDevice = 1;

  constructor(
    readonly number: string,
    readonly lid: string,
    public name: string,
  ) {}

  /** The passkey on the phone. A restart of the network makes another one. */
  get passkey(): Authenticator {
    return (this.#passkey ??= new Authenticator());
  }

  get phone(): Handset {
    const phone = this.handsets.get(0);
    if (!phone) throw new Error(`${this.number} has no phone`);
    return phone;
  }

  /** Address of this account by LID or phone number. */
  jid(server: 'lid' | 'pn', device = 0): string {
    return server === 'lid' ? lidJid(this.lid, device) : phoneJid(this.number, device);
  }

  /** The type of address that the network shows: the wanted one, or LID for a hidden phone number. */
  shownAs(wanted: 'lid' | 'pn' = this.manners.addressing): 'lid' | 'pn' {
    return this.phoneHidden ? 'lid' : wanted;
  }

  /** The address of the other type; undefined if it is hidden. */
  otherJid(server: 'lid' | 'pn'): string | undefined {
    if (server === 'pn') return this.jid('lid');
    return this.phoneHidden ? undefined : this.jid('pn');
  }

  /** Attributes of a stanza that name the account besides the address in use. */
  otherNames(role: 'participant' | 'peer_recipient', server: 'lid' | 'pn'): Node['attrs'] {
    const { attrs } = node('', {
      [`${role}_${server === 'lid' ? 'pn' : 'lid'}`]: this.otherJid(server),
      [`${role}_username`]: this.username,
    });
    return attrs;
  }

  /** The same for the sender of a direct message. The web client reads `username`, Baileys `peer_recipient_username`. */
  senderNames(server: 'lid' | 'pn'): Record<string, string | undefined> {
    return {
      [server === 'lid' ? 'sender_pn' : 'sender_lid']: this.otherJid(server),
      username: this.username,
      peer_recipient_username: this.username,
    };
  }

  /** Without that of the Cloud API, which gets no messages of others. */
  devices(): number[] {
    return [...this.handsets.keys(), ...this.companions.keys()].filter((id) => id !== HOSTED_DEVICE);
  }
}

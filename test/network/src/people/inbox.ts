import type { proto } from '@whiskeysockets/baileys';

/** What became of a message on a device of a simulated person. */
export type Fate =
  /** Decrypted and shown. */
  | 'shown'
  /** Decrypted, and one with the same id from the same sender was shown before: apps show it once. */
  | 'repeated'
  /** Its key was used before, for another message: apps drop it in silence. It is lost. */
  | 'dropped'
  /** Could not be decrypted: the device has asked for it again. */
  | 'unreadable';

export interface Received {
  seq: number;
  at: number;
  id: string;
  /** Who sent it, and from which device. */
  from: string;
  fromDevice: number;
  /** The account and device on which it arrived. */
  to: string;
  device: number;
  /** The group's jid, where it was written in a group. */
  group?: string;
  /** The address as the sender wrote it: by phone number or by lid. */
  addressed: string;
  /** Sent by another device of the same account: a copy for this one, with the chat it was sent to. */
  copyOf?: string;
  encryption: string;
  attempt: number;
  fate: Fate;
  error?: string;
  message?: proto.IMessage;
  /** The nodes beside the ciphertext, which tell apps how to draw it. */
  renderingNodes: string[];
  attributes: Record<string, string>;
}

/** Everything that arrived at simulated devices, in order of arrival. */
export class Inbox {
  readonly #all: Received[] = [];
  readonly #seen = new Set<string>();
  #seq = 0;
  /** How often each fate was met since the start. */
  readonly fates: Record<Fate, number> = { shown: 0, repeated: 0, dropped: 0, unreadable: 0 };

  constructor(private readonly limit: number) {}

  add(entry: Omit<Received, 'seq' | 'at'>): Received {
    const full: Received = { seq: ++this.#seq, at: Date.now(), ...entry };
    if (full.fate === 'shown') full.fate = this.#firstTime(full) ? 'shown' : 'repeated';
    this.#all.push(full);
    if (this.#all.length > this.limit * 1.25) this.#all.splice(0, this.#all.length - this.limit);
    this.fates[full.fate]++;
    return full;
  }

  wasShown(entry: Pick<Received, 'from' | 'to' | 'device' | 'id' | 'group'>): boolean {
    return this.#seen.has(keyOf(entry));
  }

  find(fits: (entry: Received) => boolean): Received[] {
    return this.#all.filter(fits);
  }

  get last(): number {
    return this.#seq;
  }

  #firstTime(entry: Received): boolean {
    const key = keyOf(entry);
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }
}

const keyOf = (entry: Pick<Received, 'from' | 'to' | 'device' | 'id' | 'group'>): string =>
  `${entry.to}:${entry.device} ${entry.group ?? entry.from} ${entry.from} ${entry.id}`;

import type { proto } from '@whiskeysockets/baileys';

/** The fate of a message on a device of a simulated person. */
export type Fate =
  /** Decrypted and shown. */
  | 'shown'
  /** Decrypted, but the sender's id was shown before. Apps show it once. */
  | 'repeated'
  /** Its key was already used for another message, so apps drop it without notice. It is lost. */
  | 'dropped'
  /** Could not be decrypted. The device has requested it again. */
  | 'unreadable';

export interface Received {
  seq: number;
  at: number;
  id: string;
  /** Sender and sending device. */
  from: string;
  fromDevice: number;
  /** Receiving account and device. */
  to: string;
  device: number;
  /** JID of the group, for group messages. */
  group?: string;
  /** The address that the sender used: by phone number or by LID. */
  addressed: string;
  /** A copy of a message from another device of the same account, with the chat it was sent to. */
  copyOf?: string;
  encryption: string;
  attempt: number;
  fate: Fate;
  error?: string;
  message?: proto.IMessage;
  /** Nodes beside the ciphertext that decide how apps render the message. */
  renderingNodes: string[];
  attributes: Record<string, string>;
}

/** Everything that arrived at simulated devices, in order of arrival. */
export class Inbox {
  readonly #all: Received[] = [];
  readonly #seen = new Set<string>();
  #seq = 0;
  /** Number of messages by fate. */
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

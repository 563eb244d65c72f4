import { SignalDevice, type Address, type DeviceSnapshot } from '../signal/device.js';
import type { proto } from '@whiskeysockets/baileys';
import type { Account, Companion } from './account.js';

/** A message that a simulated device has written, kept for retry requests. */
export interface Written {
  id: string;
  message: proto.IMessage;
  /** Phone number of the recipient, or JID of the group. */
  to: string;
  attributes: Record<string, string | undefined>;
  /** Number of sends that the recipient cannot decrypt. */
  garbled?: number;
}

const KEPT = 2000;

/** A device of a simulated person: the phone (device 0) or a linked one. */
export class Handset {
  readonly signal: SignalDevice;
  readonly #written = new Map<string, Written>();
  readonly #keysGiven = new Set<string>();
  #work: Promise<unknown> = Promise.resolve();

  constructor(
    readonly account: Account,
    readonly id: number,
    kept?: { signal: DeviceSnapshot; keysGiven: string[] },
  ) {
    this.signal = new SignalDevice(kept?.signal);
    for (const key of kept?.keysGiven ?? []) this.#keysGiven.add(key);
  }

  get address(): Address {
    return { user: this.account.lid, device: this.id };
  }

  /** Runs one task at a time, because concurrent tasks would advance a ratchet twice. */
  do<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }

  keep(written: Written): void {
    this.#written.set(written.id, written);
    const oldest = this.#written.keys().next().value;
    if (this.#written.size > KEPT && oldest !== undefined) this.#written.delete(oldest);
  }

  /** Whether a companion has this device's sender key of a group. */
  hasGivenKey(group: string, companion: Companion): boolean {
    return this.#keysGiven.has(keyGiven(group, companion));
  }

  keysGiven(): string[] {
    return [...this.#keysGiven];
  }

  gaveKey(group: string, companion: Companion): void {
    this.#keysGiven.add(keyGiven(group, companion));
  }

  kept(id: string): Written | undefined {
    return this.#written.get(id);
  }
}

const keyGiven = (group: string, { account, id }: Companion): string => `${group} ${account.number}:${id}`;

import { fromPublicId } from '@gwk/core/ids';
import type { PairingTerms, PhoneEvent } from '@gwk/engine-pod/driver/sandbox/network';
import { Helper } from '../helper.js';
import type { Phones } from './phones.js';

/** One arrival at the network, repeated ones included. */
export interface Stanza {
  /** Place in the order of arrival. */
  n: number;
  at: number;
  instanceId: string;
  pod: string;
  epoch: number;
  waMessageId: string;
  chat: string;
  /** The built message as it was sent. */
  bytes: string;
  /** Body of a text message. */
  text: string;
  acknowledged: boolean;
}

export interface ChatRule {
  delayMs?: number;
  /** Answers nothing until the chat has another rule. */
  hold?: boolean;
  /** How many of the next stanzas get no answer. */
  swallow?: number;
  /** Refuses with this code. */
  code?: 'wa_error' | 'recipient_not_on_whatsapp';
}

/**
 * The network as sandbox engines see it, in a process apart: the witness of what left, which reads none of our
 * tables.
 */
export class Network {
  readonly #helper: Helper;

  private constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Network> {
    return new Network(await Helper.start('gateway/network-program'));
  }

  /** One that another process has started, and ends. */
  static at(url: string): Network {
    return new Network(Helper.at(url));
  }

  get url(): string {
    return this.#helper.url;
  }

  /** For one chat (network id), of one instance (`ins_...`) or of any; or for all that have no rule of their own. */
  async setRule(rule: ChatRule, chat?: string, instance?: string): Promise<void> {
    const instanceId = instance === undefined ? undefined : fromPublicId('instance', instance);
    await this.#helper.control('rule', { chat, instanceId, ...rule });
  }

  /** Raw, in the order of arrival. */
  async stanzas(from = 0): Promise<Stanza[]> {
    return (await this.#helper.control<{ stanzas: Stanza[] }>('stanzas', { from })).stanzas;
  }

  /** Those of one instance (`ins_...`). */
  async stanzasOf(instance: string): Promise<Stanza[]> {
    const body = { from: 0, instanceId: fromPublicId('instance', instance) };
    return (await this.#helper.control<{ stanzas: Stanza[] }>('stanzas', body)).stanzas;
  }

  /** What the phone of this instance (`ins_...`), or the network, does to its number next. */
  async phone(instanceId: string, event: PhoneEvent): Promise<void> {
    await this.#helper.control('phone', { instanceId: fromPublicId('instance', instanceId), ...event });
  }

  /** What reached the network from this instance (`ins_...`) that is no message, in order. */
  async signalsOf(instance: string): Promise<Phones['signals']> {
    const body = { instanceId: fromPublicId('instance', instance) };
    return (await this.#helper.control<{ signals: Phones['signals'] }>('signals', body)).signals;
  }

  /** How many codes pairings of this instance (`ins_...`) get to show, and for how long each. */
  async setPairingTerms(instance: string, terms: PairingTerms): Promise<void> {
    await this.#helper.control('terms', { instanceId: fromPublicId('instance', instance), ...terms });
  }

  async count(): Promise<number> {
    return (await this.#helper.control<{ count: number }>('count')).count;
  }

  async stop(): Promise<void> {
    await this.#helper.stop();
  }
}

/** The records by id: for each id on the network, its arrivals in order. */
export function byId(stanzas: readonly Stanza[]): Map<string, Stanza[]> {
  const ids = new Map<string, Stanza[]>();
  for (const stanza of stanzas) {
    const arrivals = ids.get(stanza.waMessageId);
    if (arrivals) arrivals.push(stanza);
    else ids.set(stanza.waMessageId, [stanza]);
  }
  return ids;
}

import { fromPublicId } from '@gwk/core/ids/ids';
import type { PairingTerms, PhoneEvent } from '@gwk/engine-pod/driver/sandbox/network';
import { Helper } from '../helper.js';
import type { Phones } from './phones.js';

/** One stanza that reached the network. Repeated stanzas have their own entries. */
export interface Stanza {
  /** Position in the order of arrival. */
  n: number;
  at: number;
  instanceId: string;
  pod: string;
  epoch: number;
  waMessageId: string;
  chat: string;
  /** Bytes of the built message. */
  bytes: string;
  /** Body of a text message. */
  text: string;
  acknowledged: boolean;
}

export interface ChatRule {
  delayMs?: number;
  /** Holds back acknowledgements until the chat has another rule. */
  hold?: boolean;
  /** Number of next stanzas without a response. */
  swallow?: number;
  /** Refuses stanzas with this code. */
  code?: 'wa_error' | 'recipient_not_on_whatsapp';
}

/**
 * Network of sandbox engines, in a separate process. It records the sent messages independently of the gateway's
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

  /** Connects to a network that another process started and stops. */
  static at(url: string): Network {
    return new Network(Helper.at(url));
  }

  get url(): string {
    return this.#helper.url;
  }

  /** Sets a rule for one chat (network id), optionally of one instance (`ins_...`), or the default rule. */
  async setRule(rule: ChatRule, chat?: string, instance?: string): Promise<void> {
    const instanceId = instance === undefined ? undefined : fromPublicId('instance', instance);
    await this.#helper.control('rule', { chat, instanceId, ...rule });
  }

  /** Raw stanzas in the order of arrival. */
  async stanzas(from = 0): Promise<Stanza[]> {
    return (await this.#helper.control<{ stanzas: Stanza[] }>('stanzas', { from })).stanzas;
  }

  /** Stanzas of one instance (`ins_...`). */
  async stanzasOf(instance: string): Promise<Stanza[]> {
    const body = { from: 0, instanceId: fromPublicId('instance', instance) };
    return (await this.#helper.control<{ stanzas: Stanza[] }>('stanzas', body)).stanzas;
  }

  /** Next action of the phone of this instance (`ins_...`), or of the network. */
  async phone(instanceId: string, event: PhoneEvent): Promise<void> {
    await this.#helper.control('phone', { instanceId: fromPublicId('instance', instanceId), ...event });
  }

  /** Signals of this instance (`ins_...`) other than messages, in order. */
  async signalsOf(instance: string): Promise<Phones['signals']> {
    const body = { instanceId: fromPublicId('instance', instance) };
    return (await this.#helper.control<{ signals: Phones['signals'] }>('signals', body)).signals;
  }

  /** Number of pairing codes of this instance (`ins_...`) and their lifetime. */
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

/** Groups stanzas by network id, each group in order of arrival. */
export function byId(stanzas: readonly Stanza[]): Map<string, Stanza[]> {
  const ids = new Map<string, Stanza[]>();
  for (const stanza of stanzas) {
    const arrivals = ids.get(stanza.waMessageId);
    if (arrivals) arrivals.push(stanza);
    else ids.set(stanza.waMessageId, [stanza]);
  }
  return ids;
}

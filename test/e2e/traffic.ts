import { randomUUID } from 'node:crypto';
import type { NetworkClient, Person } from '@gwk/network/control/client';
import type { GatewayClient } from '../support/gateway/client.js';
import { pause, until } from '../support/wait.js';
import { sumsOf, type Line, type Sums } from './sums.js';

export interface TrafficOptions {
  client: GatewayClient;
  network: NetworkClient;
  instanceId: string;
  phone: Person;
  contacts: Person[];
  /** Messages a second, each way. */
  out: number;
  in: number;
  /** Prefix of every text, so that messages of an earlier scenario are not counted. */
  label: string;
}

const SETTLE_MS = 90_000;
const RETRY_MS = 200;
const RETRY_TIMEOUT_MS = 60_000;

/**
 * A customer that exchanges messages with many contacts without a pause. It repeats a request without an answer
 * with the same Idempotency-Key, as the documentation advises.
 */
export class Traffic {
  readonly #options: TrafficOptions;
  readonly #accepted: Line[] = [];
  readonly #written: Line[] = [];
  readonly #sending = new Set<Promise<void>>();
  #running: Promise<unknown> | null = null;
  #stopping = false;
  #n = 0;
  /** Requests without an answer, or with one that asks to retry. */
  repeated = 0;
  refused: string[] = [];

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopping = false;
    const { contacts } = this.#options;
    // The next message of a conversation is sent after the previous one was accepted: the order of acceptance
    // counts.
    const queues = contacts.map(() => Promise.resolve());
    const out = this.#every(this.#options.out, (n) => {
      const at = n % contacts.length;
      const queued = queues[at]!.then(() => this.#send(contacts[at]!));
      queues[at] = queued;
      this.#track(queued);
    });
    const incoming = this.#every(this.#options.in, (n) => {
      const contact = contacts[n % contacts.length]!;
      this.#track(this.#write(contact));
    });
    this.#running = Promise.all([out, incoming]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await Promise.all(this.#sending);
  }

  /** Waits until all messages have arrived, or SETTLE_MS have passed. */
  async settle(): Promise<{ out: Sums; in: Sums }> {
    let sums = await this.sums();
    await until(
      async () => {
        sums = await this.sums();
        return sums.out.lost.length === 0 && sums.in.lost.length === 0;
      },
      { what: 'all messages have arrived', timeoutMs: SETTLE_MS, everyMs: 500 },
    ).catch(() => undefined);
    return sums;
  }

  async sums(): Promise<{ out: Sums; in: Sums }> {
    return {
      out: sumsOf(this.#accepted, await this.#seenByContacts()),
      in: sumsOf(this.#written, await this.#seenAsEvents()),
    };
  }

  async #seenByContacts(): Promise<Line[]> {
    const { network, phone } = this.#options;
    const seen = await network.received({ from: phone.number, device: 0, fate: 'shown' });
    return seen.map(({ to, text = '' }) => ({ conversation: to, text }));
  }

  async #seenAsEvents(): Promise<Line[]> {
    const { client, instanceId } = this.#options;
    const events = await client.events({ instance_id: instanceId, type: 'message.received' });
    type Data = { text?: string; chat?: { phone?: string } };
    return events
      .map(({ data }) => data as Data)
      .map(({ text = '', chat }) => ({ conversation: chat?.phone ?? '', text }))
      .reverse();
  }

  #track(work: Promise<void>): void {
    this.#sending.add(work);
    void work.finally(() => this.#sending.delete(work));
  }

  async #every(perSecond: number, action: (n: number) => void): Promise<void> {
    const began = performance.now();
    for (let n = 0; !this.#stopping; n++) {
      action(n);
      const next = began + ((n + 1) * 1000) / perSecond;
      await pause(Math.max(0, next - performance.now()));
    }
  }

  async #write(contact: Person): Promise<void> {
    const text = `${this.#options.label} in ${++this.#n}`;
    this.#written.push({ conversation: contact.number, text });
    await contact.writes(text, { to: this.#options.phone.number });
  }

  async #send({ number }: Person): Promise<void> {
    const { client, instanceId } = this.#options;
    const text = `${this.#options.label} out ${++this.#n}`;
    const body = { instance_id: instanceId, to: number, type: 'text', text: { body: text } };
    const headers = { 'Idempotency-Key': randomUUID() };
    const end = Date.now() + RETRY_TIMEOUT_MS;
    while (Date.now() < end) {
      const answer = await client
        .call('POST', '/v1/messages', { body, headers, timeoutMs: 10_000 })
        .catch(() => null);
      if (answer?.status === 202) {
        this.#accepted.push({ conversation: number, text });
        return;
      }
      if (answer && answer.status < 500 && answer.status !== 409 && answer.status !== 429) {
        this.refused.push(`${answer.status} ${answer.text.slice(0, 200)}`);
        return;
      }
      this.repeated++;
      await pause(RETRY_MS);
    }
    this.refused.push('no answer in a minute');
  }
}

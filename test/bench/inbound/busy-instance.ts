import { testPhone, sendTraffic } from '../../support/gateway/traffic.js';
import { until } from '../../support/wait.js';
import { LinkedInstances } from '../shared/linked-instances.js';
import type { OnNetwork } from '../shared/stage.js';

const PHONE = LinkedInstances.phoneOf(0);
const RECEIVED = { direction: 'inbound' } as const;

/** One instance of a whole gateway, with contacts on the simulated network who write to it. */
export class BusyInstance {
  /** Processes involved in receiving, whose CPU time and memory is measured. */
  readonly pids: Record<'engine' | 'api' | 'postgres' | 'network', number | undefined>;
  readonly #opened: OnNetwork;
  readonly #contacts: number;

  private constructor(opened: OnNetwork, contacts: number) {
    const { network, servers, instances } = opened;
    this.#opened = opened;
    this.#contacts = contacts;
    this.pids = {
      engine: instances.enginePids()[0],
      api: instances.gateway.apis[0]!.pid,
      postgres: servers.postgres.process?.pid,
      network: network.program.pid,
    };
  }

  static async open(opened: OnNetwork, contacts: number): Promise<BusyInstance> {
    await opened.instances.grow(1);
    await opened.network.contacts(contacts);
    return new BusyInstance(opened, contacts);
  }

  /**
   * Each contact writes one message after the other. The network encrypts them first and holds them until it releases
   * all at once.
   */
  async write(name: string, count: number): Promise<void> {
    const { client } = this.#opened.network;
    await client.holdMail(PHONE);
    const each = async (index: number): Promise<void> => {
      const contact = await client.contact(testPhone(index));
      for (let number = index; number < count; number += this.#contacts)
        await contact.writes(`${name} ${number}`, { to: PHONE });
    };
    await Promise.all(Array.from({ length: this.#contacts }, (_, index) => each(index)));
  }

  async release(): Promise<void> {
    await this.#opened.network.client.releaseMail(PHONE);
  }

  /** Waits until the API has stored this many messages, and the network has a receipt for each. */
  async hasReceived(count: number, timeoutMs: number): Promise<void> {
    const phone = await this.#opened.network.client.phone(PHONE);
    await phone.hasTakenAll({ limitMs: timeoutMs });
    const { message } = this.#opened.db;
    const received = () => message.count({ where: RECEIVED });
    await until(async () => (await received()) >= count, { what: 'all are received', timeoutMs });
  }

  /** Answers each contact, so that they continue in the existing session. */
  async answerAll(): Promise<void> {
    const { customer, ids } = this.#opened.instances;
    const { client, clients } = customer;
    await sendTraffic({
      clients,
      instanceId: ids[0]!,
      name: 'answer',
      conversations: this.#contacts,
      perConversation: 1,
    });
    await until(
      async () => {
        const waiting = await Promise.all(
          ['queued', 'sending'].map((status) => client.anyMessage({ status })),
        );
        return !waiting.includes(true);
      },
      { what: 'all are answered', everyMs: 200 },
    );
  }
}

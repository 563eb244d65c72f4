import { testPhone, sendTraffic } from '../../support/gateway/traffic.js';
import { until } from '../../support/wait.js';
import { LinkedInstances } from '../shared/linked-instances.js';
import type { OnNetwork } from '../shared/stage.js';

const PHONE = LinkedInstances.phoneOf(0);
const RECEIVED = { direction: 'inbound' } as const;

/** One number of a whole gateway, with contacts of the simulated network who write to it. */
export class BusyInstance {
  /** Who has a part in what is received, for their processor time and memory. */
  readonly pids: Record<'engine' | 'api' | 'postgres' | 'network', number | undefined>;
  readonly #opened: OnNetwork;
  readonly #contacts: number;

  private constructor(opened: OnNetwork, contacts: number) {
    const { network, servers, numbers } = opened;
    this.#opened = opened;
    this.#contacts = contacts;
    this.pids = {
      engine: numbers.enginePids()[0],
      api: numbers.gateway.apis[0]!.pid,
      postgres: servers.postgres.process?.pid,
      network: network.program.pid,
    };
  }

  static async open(opened: OnNetwork, contacts: number): Promise<BusyInstance> {
    await opened.numbers.grow(1);
    await opened.network.contacts(contacts);
    return new BusyInstance(opened, contacts);
  }

  /**
   * Each contact writes one message after the other. The network encrypts them, which takes as long as it takes, and
   * keeps them until they are released, all at once.
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

  /** So many in all are messages of the API, and the network has heard of each. */
  async hasReceived(count: number, timeoutMs: number): Promise<void> {
    const phone = await this.#opened.network.client.phone(PHONE);
    await phone.hasTakenAll({ limitMs: timeoutMs });
    const { message } = this.#opened.db;
    const received = () => message.count({ where: RECEIVED });
    await until(async () => (await received()) >= count, { what: 'all are received', timeoutMs });
  }

  /** Each contact hears something: from here on they write in the session that there is. */
  async answerAll(): Promise<void> {
    const { customer, ids } = this.#opened.numbers;
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

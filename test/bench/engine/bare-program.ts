import type { Person } from '@gwk/network/control/client';
import { NetworkClient } from '@gwk/network/control/client';
import { memoryAuth, StockClient } from '@gwk/network/testing/stock-client';
import { testPhone } from '../../support/gateway/traffic.js';
import type { Load } from './sends.js';

/** Request of the benchmark, as a message of the parent process. */
export interface BareOrder extends Load {
  name: string;
  /** Duration of a key write. */
  storeMs: number;
}

/** Program argument. */
export interface BareOptions {
  url: string;
  root: string;
  control: string;
  number: string;
}

/**
 * Stock Baileys without anything else: keys in memory, conversations in turn, no message is stored. A key write takes
 * the requested time.
 */
class Bare {
  readonly #client: StockClient;
  #storeMs = 0;

  constructor({ url, root }: BareOptions) {
    const auth = memoryAuth();
    const store = { ...auth.keys };
    auth.keys.set = async (data) => {
      if (this.#storeMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#storeMs));
      await store.set(data);
    };
    this.#client = new StockClient({ url, root: Buffer.from(root, 'hex') }, auth);
  }

  async pair(phone: Person): Promise<void> {
    await this.#client.pair(phone);
  }

  /** @returns acknowledged messages per second */
  async send({ name, conversations, perConversation, storeMs }: BareOrder): Promise<number> {
    this.#storeMs = storeMs;
    const { socket } = this.#client;
    const waiting = new Set<string>();
    let done = (): void => undefined;
    const acked = ({ attrs }: { attrs: Record<string, string> }): void => {
      waiting.delete(attrs['id'] ?? '');
      if (waiting.size === 0) done();
    };
    socket.ws.on('CB:ack,class:message', acked);
    const from = performance.now();
    const conversation = async (index: number): Promise<void> => {
      const jid = `${testPhone(index)}@s.whatsapp.net`;
      for (let number = 0; number < perConversation; number++) {
        const messageId = `3EB0${Buffer.from(`${name}${index}/${number}`).toString('hex').toUpperCase()}`;
        waiting.add(messageId);
        await socket.sendMessage(jid, { text: `${name} ${index}/${number}` }, { messageId });
      }
    };
    await Promise.all(Array.from({ length: conversations }, (_, index) => conversation(index)));
    if (waiting.size > 0) await new Promise<void>((resolve) => (done = resolve));
    socket.ws.off('CB:ack,class:message', acked);
    return (conversations * perConversation) / ((performance.now() - from) / 1000);
  }
}

const options = JSON.parse(process.argv[2]!) as BareOptions;
const bare = new Bare(options);
const phone = await new NetworkClient(options.control).phone(options.number, { name: 'Bare' });
await bare.pair(phone);
process.on('message', (order: BareOrder) => {
  bare.send(order).then(
    (perSecond) => process.send!({ perSecond }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send!({ ready: true, rss: process.memoryUsage.rss() });

import { NetworkClient } from '@gwk/network/control/client';
import { StockClient } from '@gwk/network/testing/stock-client';

/** Program argument. */
export interface BareOptions {
  url: string;
  root: string;
  control: string;
  number: string;
}

/** A text to send, as a message of the parent process. */
export interface BareText {
  place: number;
  to: string;
  text: string;
}

export type BareAnswer = { ready: true } | { place: number; accepted: boolean };

/** Stock Baileys with keys in memory: a send is one call of `sendMessage`. */
const { url, root, control, number } = JSON.parse(process.argv[2]!) as BareOptions;
const client = new StockClient({ url, root: Buffer.from(root, 'hex') });
await client.pair(await new NetworkClient(control).phone(number, { name: 'Bare' }));
const say = (answer: BareAnswer): void => void process.send!(answer);
process.on('message', ({ place, to, text }: BareText) => {
  client.socket.sendMessage(`${to}@s.whatsapp.net`, { text }).then(
    () => say({ place, accepted: true }),
    () => say({ place, accepted: false }),
  );
});
process.on('disconnect', () => process.exit(0));
say({ ready: true });

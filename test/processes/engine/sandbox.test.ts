import { createLogger } from '@gwk/core/log';
import { until } from '../../support/engine/engine-process.js';
import type { DriverContext, Receipt } from '@gwk/engine-pod/driver/driver';
import { SandboxDriver } from '@gwk/engine-pod/driver/sandbox';

const receipts: Receipt[] = [];
const context: DriverContext = {
  instanceId: '0199f3a2-7c1e-7b04-a1d2-5c3e8f902b67',
  pod: 'pod-1',
  epoch: 1,
  log: createLogger('test', 'silent'),
  leased: () => true,
  session: { read: () => Promise.resolve([]), write: () => Promise.resolve() },
  receipt: (receipt) => Promise.resolve(void receipts.push(receipt)),
  inbound: () => Promise.resolve(),
  readFile: () => Promise.reject(new Error('there are no files')),
  readSent: () => Promise.resolve(null),
  restricted: () => Promise.resolve(),
  keepFile: () => Promise.reject(new Error('there are no files')),
};
const driver = new SandboxDriver(context, undefined);
afterAll(() => driver.close());

const audio = (voice: boolean) => ({ type: 'audio', audio: { media: {}, voice } });
const send = (waMessageId: string, built: object) =>
  driver.send({
    waMessageId,
    chat: '5511987654321@s.whatsapp.net',
    bytes: Buffer.from(JSON.stringify(built)),
    mayWrite: () => true,
    signal: new AbortController().signal,
  });

test('what is opened is read, and a voice message is heard as well', async () => {
  let open = false;
  driver.connect((event) => (open ||= event.kind === 'opened'), null);
  await until('it is connected', () => open);
  await Promise.all([
    send('VOICE', audio(true)),
    send('FILE', audio(false)),
    send('TEXT', { type: 'text', text: { body: '{"type":"audio","audio":{"voice":true}}' } }),
  ]);
  await until('all are read', () => receipts.filter(({ status }) => status === 'read').length === 3);
  const played = receipts
    .filter((receipt) => receipt.played)
    .map(({ waMessageId, status }) => [waMessageId, status]);
  expect(played).toEqual([['VOICE', 'read']]);
});

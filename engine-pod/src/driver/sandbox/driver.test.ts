import { setImmediate as turn } from 'node:timers/promises';
import { createLogger } from '@gwk/core/process/log';
import { ManualClock } from '@gwk/test/support/clock';
import type { ConnectionEvent, DriverContext, Receipt } from '../driver.js';
import { SandboxDriver } from './driver.js';

const receipts: Receipt[] = [];
const context: DriverContext = {
  instanceId: '0199f3a2-7c1e-7b04-a1d2-5c3e8f902b67',
  pod: 'pod-1',
  epoch: 1,
  log: createLogger('test', 'silent'),
  isLeased: () => true,
  session: { read: () => Promise.resolve([]), write: () => Promise.resolve() },
  storeReceipt: (receipt) => Promise.resolve(void receipts.push(receipt)),
  storeInbound: () => Promise.resolve(),
  rejectsCalls: () => false,
  clientVersions: {
    isExpected: false,
    choose: () => Promise.resolve(null),
    replaceRefused: () => Promise.resolve(null),
    confirm: () => undefined,
  },
  storeNotice: () => Promise.resolve(),
  countIgnored: () => undefined,
  readFile: () => Promise.reject(new Error('there are no files')),
  readSentMessage: () => Promise.resolve(null),
  readPoll: () => Promise.resolve({ secret: null, built: null }),
  storeNames: () => Promise.resolve(),
  storeUsernames: () => Promise.resolve(),
  storeRestriction: () => Promise.resolve(),
  storeFile: () => Promise.reject(new Error('there are no files')),
};
const clock = new ManualClock();
const driver = new SandboxDriver(context, undefined, clock);
const events: ConnectionEvent[] = [];
const kinds = () => events.map(({ kind }) => kind);
afterAll(() => driver.close());

async function connect(wanted: Parameters<SandboxDriver['connect']>[1]): Promise<void> {
  events.length = 0;
  driver.connect((event) => void events.push(event), wanted);
  await turn();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await turn();
}

const audio = (voice: boolean) => ({ type: 'audio', audio: { media: {}, voice } });
const send = (waMessageId: string, built: object, chat = '5511987654321@s.whatsapp.net') =>
  driver.send({
    waMessageId,
    chat,
    bytes: Buffer.from(JSON.stringify(built)),
    mayWrite: () => true,
    signal: new AbortController().signal,
  });

test('reads opened messages and plays voice messages', async () => {
  await connect(null);
  expect(kinds()).toContain('opened');
  const sent = Promise.all([
    send('VOICE', audio(true)),
    send('FILE', audio(false)),
    send('TEXT', { type: 'text', text: { body: '{"type":"audio","audio":{"voice":true}}' } }),
  ]);
  await pass(5);
  await sent;
  await pass(1_000);
  expect(receipts.filter(({ status }) => status === 'read')).toHaveLength(3);
  const played = receipts
    .filter((receipt) => receipt.played)
    .map(({ waMessageId, status }) => [waMessageId, status]);
  expect(played).toEqual([['VOICE', 'read']]);
});

test.each([
  ['5511987654321', { jid: '5511987654321@s.whatsapp.net', lid: null }],
  ['5511987650000', null],
  ['101234567890123@lid', { jid: '101234567890123@lid', lid: '101234567890123@lid' }],
  ['101234567890000@lid', null],
])('looks up %s', async (name, found) => {
  await connect(null);
  const checking = driver.checkContact(name);
  await pass(5);
  expect(await checking).toEqual(found);
});

test('confirms a message to a group by one of its members', async () => {
  receipts.length = 0;
  const sent = Promise.all([send('DIRECT', {}), send('GROUP', {}, '120363000000000001@g.us')]);
  await pass(5);
  await sent;
  await pass(1_000);
  const members = new Map(receipts.map(({ waMessageId, participant }) => [waMessageId, participant]));
  expect(members.get('DIRECT')).toBeUndefined();
  expect(members.get('GROUP')).toMatch(/^\d+@s\.whatsapp\.net$/);
});

test('pairs without a phone some seconds after the first code', async () => {
  await connect({ session: 'a-session', method: 'qr', phone: null });
  expect(kinds()).toEqual(['qr']);
  await pass(4_999);
  expect(kinds()).toEqual(['qr']);
  await pass(1);
  expect(kinds()).toEqual(['qr', 'paired', 'closed']);
  expect(events[2]).toMatchObject({ disconnect: { reason: 'restart_required', reconnect: 'at-once' } });
  await connect(null);
  expect(kinds()).toEqual(['opened']);
});

import { setImmediate as turn } from 'node:timers/promises';
import type { ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import { createLogger } from '@gwk/core/log';
import { ManualClock } from '@gwk/test/support/clock';
import { SendFailure, type Driver, type EncodedMessage, type Stanza } from '../driver/driver.js';
import { Gate } from './gate.js';
import { Sender } from './sender.js';

const messageOf = (id: string): ClaimedMessage => ({
  message_id: id,
  conversation_id: 'c1',
  chat: '551@s.whatsapp.net',
  wa_message_id: `3EB0${id}`,
  type: 'text',
  content: '{"type":"text","text":{"body":"hello"}}',
  interactive_mode: 'native+text',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
});

/** A sender whose outcomes stay unrecorded until `record`. */
function openSender(send: (id: string) => void) {
  const written: string[] = [];
  const reported: Outcome[] = [];
  let record = (): void => undefined;
  const recorded = new Promise<boolean>((resolve) => (record = () => resolve(false)));
  const built: EncodedMessage = { bytes: Buffer.from('built'), rendered_as: null, menu: null };
  const driver = {
    build: async () => built,
    send: async ({ stored, mayWrite, waMessageId }: Stanza) => {
      await stored;
      if (!mayWrite()) throw SendFailure.notWritten();
      written.push(waMessageId);
      send(waMessageId);
    },
  } as Partial<Driver> as Driver;
  const sender = new Sender({
    ...{ driver, log: createLogger('engine', 'silent'), ackTimeoutMs: 1_000, clock: new ManualClock() },
    gate: new Gate(
      () => true,
      () => false,
    ),
    storeBuilt: async () => true,
    resending: () => undefined,
    rateLimited: () => undefined,
    report: (outcome) => (reported.push(outcome), recorded),
    settled: () => undefined,
    returned: () => undefined,
    finished: () => undefined,
  });
  const kinds = () => reported.map(({ kind }) => kind);
  return { sender, written, kinds, record };
}

const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};

test('the next message of a conversation does not wait until a sent one is recorded', async () => {
  const { sender, written, kinds } = openSender(() => undefined);
  sender.accept([messageOf('1'), messageOf('2')], 'claim');
  await settle();
  expect([written, kinds()]).toEqual([
    ['3EB01', '3EB02'],
    ['sent', 'sent'],
  ]);
});

test('it waits until a failed one is recorded: a later engine would send that again', async () => {
  const refuse = (id: string) => {
    if (id === '3EB01') throw SendFailure.refused('recipient_not_on_whatsapp');
  };
  const { sender, written, kinds, record } = openSender(refuse);
  sender.accept([messageOf('1'), messageOf('2')], 'claim');
  await settle();
  expect([written, kinds()]).toEqual([['3EB01'], ['failed']]);
  record();
  await sender.waitUntilEmpty();
  expect([written, kinds()]).toEqual([
    ['3EB01', '3EB02'],
    ['failed', 'sent'],
  ]);
});

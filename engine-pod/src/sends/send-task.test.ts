import { setImmediate as turn } from 'node:timers/promises';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { ManualClock } from '@gwk/test/support/clock';
import { SendFailure, type EncodedMessage, type Driver } from '../driver/driver.js';
import { SendTask, type SendResult } from './send-task.js';
import { Gate } from './gate.js';

const MESSAGE: ClaimedMessage = {
  message_id: 'm1',
  conversation_id: 'c1',
  chat: '551@s.whatsapp.net',
  wa_message_id: '3EB0',
  type: 'text',
  content: '{"type":"text","text":{"body":"hello"}}',
  interactive_mode: 'native+text',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
};
const BUILT: EncodedMessage = { bytes: Buffer.from('built'), rendered_as: null, menu: null };

const LONG_MS = 60_000;

interface Line {
  open: boolean;
  builds: number;
  sends: number;
}

/**
 * Delivers one message through a scripted driver.
 *
 * @param passes whether time passes, so that waits between attempts end
 */
async function deliver(
  build: (line: Line, gate: Gate) => EncodedMessage,
  passes = () => true,
): Promise<[SendResult, Line]> {
  const clock = new ManualClock();
  const line: Line = { open: true, builds: 0, sends: 0 };
  const gate = new Gate(() => line.open);
  const driver = {
    build: async () => {
      line.builds += 1;
      return build(line, gate);
    },
    send: async () => void (line.sends += 1),
  } as Partial<Driver> as Driver;
  const context = {
    driver,
    gate,
    ackTimeoutMs: 1_000,
    storeBuilt: async () => true,
    resending: () => undefined,
    clock,
  };
  let conclusion: SendResult | undefined;
  void new SendTask(MESSAGE, context).run().then((concluded) => (conclusion = concluded));
  for (let turns = 0; turns < 100; turns++) {
    await turn();
    if (conclusion) return [conclusion, line];
    if (passes()) clock.skip(LONG_MS);
  }
  throw new Error('the message has no result');
}

test('returns the message to the queue when the connection ends while it is built', async () => {
  const [conclusion, line] = await deliver((line) => {
    line.open = false;
    throw SendFailure.notWritten();
  });
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line).toMatchObject({ builds: 1, sends: 0 });
});

test('retries a failed lookup on a stable connection, and sends the message', async () => {
  const [conclusion, line] = await deliver((line) => {
    if (line.builds < 3) throw SendFailure.notWritten();
    return BUILT;
  });
  expect(conclusion).toMatchObject({ kind: 'sent' });
  expect(line).toMatchObject({ builds: 3, sends: 1 });
});

test('returns the message at once when the engine ends while it waits to build again', async () => {
  let ends = false;
  const fail = ({ builds }: Line, gate: Gate) => {
    ends = builds === 3;
    if (ends) setImmediate(() => gate.end());
    throw SendFailure.notWritten();
  };
  const [conclusion, line] = await deliver(fail, () => !ends);
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line.builds).toBe(3);
});

test('returns a message that always fails to build, to take its turn among the others', async () => {
  const [conclusion, line] = await deliver(() => {
    throw SendFailure.notWritten();
  });
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line.builds).toBe(4);
});

test('fails a message that can never be built, with its reason', async () => {
  const [conclusion, line] = await deliver(() => {
    throw SendFailure.refused('wa_error', 'too large');
  });
  expect(conclusion).toMatchObject({ kind: 'failed', error: { code: 'wa_error', message: 'too large' } });
  expect(line.builds).toBe(1);
});

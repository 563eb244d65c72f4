import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { SendFailure, type Built, type Driver } from '../driver/driver.js';
import { Delivery, type Conclusion } from './delivery.js';
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
const BUILT: Built = { bytes: Buffer.from('built'), rendered_as: null, menu: null };

interface Line {
  open: boolean;
  builds: number;
  sends: number;
}

/** One message over a line that does as it is told. */
async function deliver(build: (line: Line, gate: Gate) => Built): Promise<[Conclusion, Line]> {
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
    doubted: () => undefined,
  };
  return [await new Delivery(MESSAGE, context).run(), line];
}

test('a connection that ends while the message is built sends it back to the queue', async () => {
  const [conclusion, line] = await deliver((line) => {
    line.open = false;
    throw SendFailure.notWritten();
  });
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line).toMatchObject({ builds: 1, sends: 0 });
});

test('a look-up that fails on a connection that lasts is asked again, and the message is sent', async () => {
  const [conclusion, line] = await deliver((line) => {
    if (line.builds < 3) throw SendFailure.notWritten();
    return BUILT;
  });
  expect(conclusion).toMatchObject({ kind: 'sent' });
  expect(line).toMatchObject({ builds: 3, sends: 1 });
});

test('an engine that ends while the message waits to be built again sends it back at once', async () => {
  // The wait after the third time is the longest: to see that it is not waited for.
  let endedAt = Infinity;
  const [conclusion, line] = await deliver(({ builds }, gate) => {
    if (builds === 3)
      setImmediate(() => {
        endedAt = performance.now();
        gate.end();
      });
    throw SendFailure.notWritten();
  });
  expect(performance.now() - endedAt).toBeLessThan(300);
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line.builds).toBe(3);
});

test('what always fails goes back, to take its turn among the others', async () => {
  const [conclusion, line] = await deliver(() => {
    throw SendFailure.notWritten();
  });
  expect(conclusion).toEqual({ kind: 'returned' });
  expect(line.builds).toBe(4);
});

test('what can never be built fails, with its reason', async () => {
  const [conclusion, line] = await deliver(() => {
    throw SendFailure.refused('wa_error', 'too large');
  });
  expect(conclusion).toMatchObject({ kind: 'failed', code: 'wa_error', text: 'too large' });
  expect(line.builds).toBe(1);
});

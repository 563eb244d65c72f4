import { setImmediate as turn } from 'node:timers/promises';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { ManualClock } from '@gwk/test/support/clock';
import { SendFailure, type Driver, type EncodedMessage, type Stanza } from '../driver/driver.js';
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
  paused: boolean;
  builds: number;
  sends: number;
  /** Number of refusals because of the rate. */
  limited: number;
  clock: ManualClock;
}

/**
 * Delivers one message through a scripted driver.
 *
 * @param passes whether time passes, so that waits between attempts end
 */
async function deliver(
  build: (line: Line, gate: Gate) => EncodedMessage,
  passes = () => true,
  send = async (_: Line, __: Stanza): Promise<void> => undefined,
  { message = MESSAGE, storeBuilt = async () => true } = {},
): Promise<[SendResult, Line]> {
  const clock = new ManualClock();
  const line: Line = { open: true, paused: false, limited: 0, builds: 0, sends: 0, clock };
  const gate: Gate = new Gate(
    () => line.open,
    () => line.paused,
  );
  const driver = {
    build: async () => {
      line.builds += 1;
      return build(line, gate);
    },
    send: async (stanza: Stanza) => {
      line.sends += 1;
      await send(line, stanza);
    },
  } as Partial<Driver> as Driver;
  const context = {
    driver,
    gate,
    ackTimeoutMs: 1_000,
    storeBuilt,
    resending: () => undefined,
    rateLimited: () => void (line.limited += 1),
    clock,
  };
  let conclusion: SendResult | undefined;
  void new SendTask(message, context).run().then((concluded) => (conclusion = concluded));
  for (let turns = 0; turns < 100; turns++) {
    await turn();
    if (conclusion) return [conclusion, line];
    if (passes()) clock.skip(LONG_MS);
    gate.recheck();
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

describe('while what was built is stored', () => {
  const waiting = async (_: Line, { stored, mayWrite }: Stanza): Promise<void> => {
    await stored;
    mayWrite();
  };

  test('the message is encrypted, and the wait for the network begins only afterwards', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let sends = 0;
    const [conclusion, line] = await deliver(
      () => BUILT,
      // Several times the limit for an answer of the network.
      () => {
        if (sends === 1) setImmediate(() => resolve(true));
        return sends === 1;
      },
      async (line, stanza) => {
        ({ sends } = line);
        await waiting(line, stanza);
      },
      { storeBuilt: () => promise },
    );
    expect(conclusion).toMatchObject({ kind: 'sent' });
    expect(line.sends).toBe(1);
  });

  test('the call leaves before the message is encrypted', async () => {
    const steps: string[] = [];
    await deliver(
      () => BUILT,
      () => true,
      async () => void steps.push('encrypted'),
      {
        storeBuilt: async () => {
          // As the batches of calls.
          await turn();
          steps.push('called');
          return true;
        },
      },
    );
    expect(steps).toEqual(['called', 'encrypted']);
  });

  test('a message returns to the queue when the engine stops, and touches no socket', async () => {
    let isWritten = false;
    let line: Line | undefined;
    const [conclusion] = await deliver(
      (given) => {
        line = given;
        return BUILT;
      },
      () => true,
      async (given, stanza) => {
        await waiting(given, stanza);
        isWritten = true;
      },
      {
        storeBuilt: async () => {
          await turn();
          line!.open = false;
          return true;
        },
      },
    );
    expect(conclusion).toEqual({ kind: 'returned' });
    expect(isWritten).toBe(false);
  });

  test('a message of another engine is dropped and not written', async () => {
    let isWritten = false;
    const [conclusion] = await deliver(
      () => BUILT,
      () => true,
      async (line, stanza) => {
        await waiting(line, stanza);
        isWritten = true;
      },
      { storeBuilt: async () => false },
    );
    expect(conclusion).toEqual({ kind: 'dropped' });
    expect(isWritten).toBe(false);
  });
});

test('sends a message again that the network refuses for a time', async () => {
  const [conclusion, line] = await deliver(
    () => BUILT,
    () => true,
    async ({ sends }) => {
      if (sends < 3) throw SendFailure.refusedForNow('busy', '503');
    },
  );
  expect(conclusion).toMatchObject({ kind: 'sent' });
  expect(line).toMatchObject({ builds: 1, sends: 3 });
});

test.each([
  ['unconfirmed', SendFailure.unconfirmed(), 'timeout'],
  ['refused for a time', SendFailure.refusedForNow('busy', '503'), 'wa_error'],
])('after an attempt that was %s, a refusal before the next one is a %s', async (_, first, code) => {
  const [conclusion] = await deliver(
    () => BUILT,
    () => true,
    async ({ sends }, { mayWrite }) => {
      if (sends === 1) {
        mayWrite();
        throw first;
      }
      throw SendFailure.refused('wa_error', 'only admins may send to this group');
    },
  );
  expect(conclusion).toMatchObject({
    kind: 'failed',
    error: { code, message: expect.stringContaining('admins') as string },
  });
});

test('fails a message that the network refuses for 10 minutes, with its reason', async () => {
  const [conclusion, line] = await deliver(
    () => BUILT,
    () => true,
    async ({ clock }) => {
      clock.advance(LONG_MS);
      throw SendFailure.refusedForNow('busy', '503');
    },
  );
  expect(conclusion).toMatchObject({ kind: 'failed', error: { code: 'wa_error', message: 'busy' } });
  expect(line.sends).toBeGreaterThan(5);
});

test.each(['420', '421'])('fails a message to a group that answers %s for 60 s', async (code) => {
  const [conclusion, line] = await deliver(
    () => BUILT,
    () => true,
    async ({ clock }) => {
      clock.advance(LONG_MS / 4);
      throw SendFailure.refusedForNow('refuses the members', code);
    },
  );
  expect(conclusion).toMatchObject({ kind: 'failed', error: { message: 'refuses the members' } });
  expect(line.sends).toBeGreaterThan(1);
  expect(line.sends).toBeLessThan(6);
});

test('counts the 10 minutes of refusals from the first attempt of an earlier engine', async () => {
  const attempted_at = new Date(Date.now() - 9 * LONG_MS).toISOString();
  const [conclusion, line] = await deliver(
    () => BUILT,
    () => true,
    async ({ clock }, { mayWrite }) => {
      mayWrite();
      clock.advance(LONG_MS);
      throw SendFailure.refusedForNow('busy', '503');
    },
    { message: { ...MESSAGE, built: 'YnVpbHQ=', attempted_at } },
  );
  expect(conclusion).toMatchObject({ kind: 'failed', error: { code: 'wa_error', message: 'busy' } });
  expect(line.sends).toBe(2);
});

describe('while the network limits the rate of messages', () => {
  test('a refused message waits for the end of the pause', async () => {
    const [conclusion, line] = await deliver(
      () => BUILT,
      () => true,
      async (line, { mayWrite }) => {
        mayWrite();
        if (line.sends > 1) return;
        line.paused = true;
        line.clock.after(LONG_MS, () => (line.paused = false));
        throw SendFailure.refusedForNow('too many', '429');
      },
    );
    expect(conclusion).toMatchObject({ kind: 'sent' });
    expect(line).toMatchObject({ sends: 2, limited: 1 });
  });

  test('a message that was not written returns to the queue', async () => {
    const [conclusion, line] = await deliver((line) => {
      line.paused = true;
      return BUILT;
    });
    expect(conclusion).toEqual({ kind: 'returned' });
    expect(line.sends).toBe(0);
  });
});

import { setImmediate as turn } from 'node:timers/promises';
import type { BuiltMessageRecord, ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
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

interface Script {
  /** What the network does with a message that is written. */
  send?: (id: string) => unknown;
  isOurs?: (id: string) => boolean | Promise<boolean>;
  build?: (message: ClaimedMessage) => void;
  /** Before the message is stored. */
  encrypt?: () => void;
  isOpen?: () => boolean;
  report?: (outcome: Outcome) => Promise<boolean>;
}

/** A sender whose outcomes stay unrecorded. */
function openSender({
  send,
  build,
  encrypt,
  isOurs = () => true,
  isOpen = () => true,
  report = unanswered,
}: Script) {
  const written: string[] = [];
  const stored: BuiltMessageRecord[] = [];
  const settled: unknown[] = [];
  const reported: Outcome[] = [];
  const clock = new ManualClock();
  const built: EncodedMessage = { bytes: Buffer.from('built'), rendered_as: null, menu: null };
  const driver = {
    build: async (message) => (build?.(message), built),
    send: async ({ stored, mayWrite, waMessageId }: Stanza) => {
      encrypt?.();
      await stored;
      if (!mayWrite()) throw SendFailure.notWritten();
      written.push(waMessageId);
      await send?.(waMessageId);
    },
  } as Partial<Driver> as Driver;
  let givenBack = 0;
  const sender = new Sender({
    ...{ driver, log: createLogger('engine', 'silent'), ackTimeoutMs: 60_000, clock },
    gate: new Gate(isOpen, () => false),
    storeBuilt: async (record) => (stored.push(record), isOurs(record.message_id)),
    resending: () => undefined,
    rateLimited: () => undefined,
    report: (outcome) => (reported.push(outcome), report(outcome)),
    settled: (notification, waiting) => void settled.push({ notification, waiting }),
    returned: () => void givenBack++,
    finished: () => undefined,
  });
  const kinds = () => reported.map(({ kind }) => kind);
  return { sender, written, reported, stored, settled, kinds, clock, givenBack: () => givenBack };
}

const unanswered = () => new Promise<never>(() => undefined);
const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};

test('the next message of a conversation does not wait until a sent one is recorded', async () => {
  const { sender, written, kinds } = openSender({});
  sender.accept([messageOf('1'), messageOf('2')], 'claim');
  await settle();
  expect([written, kinds()]).toEqual([
    ['3EB01', '3EB02'],
    ['sent', 'sent'],
  ]);
});

test.each([
  ['unanswered', unanswered],
  ['refused', () => Promise.reject(new Error('refused'))],
])(
  'the later ones of its conversation return to the queue behind a failed one, its report %s',
  async (_, report) => {
    const send = (id: string) => {
      if (id === '3EB01') throw SendFailure.refused('recipient_not_on_whatsapp');
    };
    const { sender, written, kinds } = openSender({ send, report });
    sender.accept([messageOf('1'), messageOf('2')], 'claim');
    await settle();
    expect([written, kinds()]).toEqual([['3EB01'], ['failed', 'returned']]);
  },
);

test('behind one that Postgres no longer grants, they return as well', async () => {
  const { sender, written, reported } = openSender({ isOurs: (id) => id !== '1' });
  sender.accept([messageOf('1'), messageOf('2')], 'claim');
  await settle();
  expect(written).toEqual([]);
  expect(reported).toEqual([
    { kind: 'returned', message_id: '1', claim_id: 'claim' },
    { kind: 'returned', message_id: '2', claim_id: 'claim', unsent: true },
  ]);
});

test('one that Postgres no longer grants can be claimed again before its return is recorded', async () => {
  const { sender, written } = openSender({ isOurs: (id) => id !== '1' || sender.held > 1 });
  sender.accept([messageOf('1')], 'lost');
  await settle();
  sender.accept([messageOf('1'), messageOf('2')], 'newer');
  await settle();
  expect(written).toEqual(['3EB01', '3EB02']);
});

test('of a message that Postgres claimed again, the newer claim is returned', async () => {
  let isOpen = true;
  const messages = [messageOf('1'), messageOf('2')];
  const { sender, reported } = openSender({ send: unanswered, isOpen: () => isOpen });
  sender.accept(messages, 'lost');
  sender.accept(messages, 'newer');
  isOpen = false;
  await settle();
  expect(reported.map((outcome) => outcome.kind === 'returned' && outcome.claim_id)).toEqual([
    'newer',
    'newer',
  ]);
});

test('of one that is claimed again while its outcome is on the way, the newer claim is returned', async () => {
  const recorded = Promise.withResolvers<boolean>();
  const { sender, reported } = openSender({
    send: () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    },
    report: () => recorded.promise,
  });
  sender.accept([messageOf('1')], 'lost');
  await settle();
  sender.accept([messageOf('1')], 'newer');
  recorded.resolve(false);
  await sender.waitUntilEmpty();
  expect(reported.slice(1)).toEqual([{ kind: 'returned', message_id: '1', claim_id: 'newer' }]);
});

test('what was claimed behind one that ended unsent returns with it, and does not pass it', async () => {
  const recorded = Promise.withResolvers<boolean>();
  const { sender, written, reported } = openSender({
    send: () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    },
    report: () => recorded.promise,
  });
  sender.accept([messageOf('1')], 'lost');
  await settle();
  sender.accept([messageOf('1'), messageOf('2')], 'newer');
  recorded.resolve(false);
  await sender.waitUntilEmpty();
  await settle();
  expect(written).toEqual(['3EB01']);
  expect(reported.slice(1)).toEqual([
    { kind: 'returned', message_id: '2', claim_id: 'newer', unsent: true },
    { kind: 'returned', message_id: '1', claim_id: 'newer' },
  ]);
});

test('while the newer claim is returned, the message can be claimed a third time', async () => {
  const recorded = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  let reports = 0;
  const { sender, written } = openSender({
    send: () => {
      if (reports === 0) throw SendFailure.refused('wa_error');
    },
    report: () => recorded[reports++]?.promise ?? Promise.resolve(false),
  });
  sender.accept([messageOf('1')], 'lost');
  await settle();
  sender.accept([messageOf('1')], 'newer');
  recorded[0]!.resolve(false);
  await settle();
  sender.accept([messageOf('1')], 'third');
  await settle();
  expect(written).toEqual(['3EB01', '3EB01']);
});

test('an attempted one that Postgres no longer grants returns too', async () => {
  const { sender, reported, clock } = openSender({ send: unanswered, isOurs: () => false });
  sender.accept([{ ...messageOf('1'), built: 'YQ==', attempted_at: new Date().toISOString() }], 'claim');
  await settle();
  clock.advance(60_000);
  await settle();
  clock.advance(60_000);
  await settle();
  expect(reported).toEqual([{ kind: 'returned', message_id: '1', claim_id: 'claim' }]);
});

test('the messages of a newer claim stay together behind a late one', async () => {
  const { sender, kinds, clock } = openSender({ send: unanswered });
  sender.accept([messageOf('1'), messageOf('2')], 'lost');
  await settle();
  clock.advance(400);
  clock.advanceSilently(700);
  sender.accept([messageOf('1'), messageOf('2'), messageOf('3')], 'newer');
  clock.advance(2_000);
  await settle();
  expect([sender.held, kinds()]).toEqual([3, []]);
});

test('the later ones return after a second without an answer, and the unanswered one stays', async () => {
  const { sender, written, kinds, clock, givenBack } = openSender({ send: unanswered });
  sender.accept([messageOf('1'), messageOf('2'), messageOf('3')], 'claim');
  await settle();
  clock.advance(999);
  expect(kinds()).toEqual([]);
  clock.advance(501);
  await settle();
  expect([written, kinds(), givenBack()]).toEqual([['3EB01'], ['returned', 'returned'], 2]);
  expect([sender.held, clock.count(500)]).toEqual([1, 0]);
});

test('for a second after that, the engine claims only first messages', async () => {
  const { sender, clock } = openSender({ send: unanswered });
  sender.accept([messageOf('1'), messageOf('2')], 'claim');
  await settle();
  expect(sender.wantsFollowers).toBe(true);
  clock.advance(1_000);
  expect(sender.wantsFollowers).toBe(false);
  clock.advance(1_000);
  expect(sender.wantsFollowers).toBe(true);
});

test('one that is claimed behind a late one stays: it is first in the queue', async () => {
  const { sender, kinds, clock } = openSender({ send: unanswered });
  sender.accept([messageOf('1')], 'claim');
  await settle();
  clock.advance(1_000);
  sender.accept([messageOf('2')], 'later');
  clock.advance(10_000);
  await settle();
  expect([sender.held, kinds()]).toEqual([2, []]);
});

test('one that an earlier engine attempted waits for its turn', async () => {
  const { sender, kinds, clock } = openSender({ send: unanswered });
  const attempted = { ...messageOf('2'), built: 'YQ==', attempted_at: new Date().toISOString() };
  sender.accept([messageOf('1'), attempted], 'claim');
  await settle();
  clock.advance(5_000);
  await settle();
  expect([sender.held, kinds()]).toEqual([2, []]);
});

describe('a message that came with its notification', () => {
  const { message_id, conversation_id, chat, wa_message_id, type, content } = messageOf('1');
  const notified = { message_id, conversation_id, chat, wa_message_id, type, content };
  const other = { ...notified, message_id: '2', conversation_id: 'c2' };
  const pair = [notified, other];

  test('is claimed by the call that stores what was built, and sent', async () => {
    const { sender, written, stored, reported, settled } = openSender({ report: async () => false });
    expect(sender.receive([notified])).toBe('build');
    sender.take([notified], '1-0');
    await settle();
    expect(stored).toEqual([
      {
        message_id: '1',
        built: Buffer.from('built').toString('base64'),
        rendered_as: null,
        menu: null,
        claim: { claim_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    ]);
    expect([written, reported]).toEqual([
      ['3EB01'],
      [expect.objectContaining({ kind: 'sent', message_id: '1' })],
    ]);
    expect(settled).toEqual([{ notification: '1-0', waiting: false }]);
  });

  test('is built once, also if its notification is read again', async () => {
    const { sender, stored, clock } = openSender({ report: async () => false });
    sender.take([notified], '1-0');
    await settle();
    expect([sender.held, sender.receive([notified])]).toEqual([0, 'nothing']);
    clock.advance(119_999);
    expect([stored.length, sender.receive([notified])]).toEqual([1, 'nothing']);
  });

  test('is not reported if it was not granted; a claim looks for it', async () => {
    const { sender, written, reported, settled, givenBack } = openSender({ isOurs: () => false });
    sender.take([notified], '1-0');
    await settle();
    expect([written, reported, sender.held, givenBack()]).toEqual([[], [], 0, 1]);
    expect(settled).toEqual([{ notification: '1-0', waiting: true }]);
  });

  test('is not reported if it cannot be built or the call fails; a claim looks for it', async () => {
    const script: Script = {
      build: () => {
        throw SendFailure.refused('recipient_not_on_whatsapp');
      },
    };
    for (const failing of [script, { isOurs: () => Promise.reject(new Error('refused')) }]) {
      const { sender, reported, settled } = openSender(failing);
      sender.take([notified], '1-0');
      await settle();
      expect([reported, sender.held]).toEqual([[], 0]);
      expect(settled).toEqual([{ notification: '1-0', waiting: true }]);
    }
  });

  test('that the network refuses while it is being stored is reported once it is claimed', async () => {
    const { promise, resolve: grant } = Promise.withResolvers<boolean>();
    const encrypt = () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    };
    const { sender, reported } = openSender({ isOurs: () => promise, encrypt });
    sender.take([notified], '1-0');
    await settle();
    expect([reported, sender.held]).toEqual([[], 1]);
    grant(true);
    await settle();
    expect([reported, sender.held]).toEqual([[expect.objectContaining({ kind: 'failed' })], 1]);
  });

  test('that a claim grants while the call is refused goes by that claim', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const { sender, written, reported, givenBack } = openSender({ isOurs: () => promise });
    sender.take([notified], '1-0');
    await settle();
    sender.accept([messageOf('1'), messageOf('2')], 'newer');
    answer(false);
    await settle();
    expect(written).toEqual([]);
    expect(reported).toEqual([
      { kind: 'returned', message_id: '1', claim_id: 'newer' },
      { kind: 'returned', message_id: '2', claim_id: 'newer', unsent: true },
    ]);
    // One token for its second copy, and one for each returned message.
    expect(givenBack()).toBe(3);
  });

  test('that failed is reported if a claim grants it before the call is refused', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const encrypt = () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    };
    const { sender, reported } = openSender({ isOurs: () => promise, encrypt });
    sender.take([notified], '1-0');
    await settle();
    sender.accept([messageOf('1')], 'newer');
    answer(false);
    await settle();
    expect(reported).toEqual([expect.objectContaining({ kind: 'failed', message_id: '1' })]);
  });

  test('holds back later ones that a claim brings under another conversation', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const { sender, written, reported } = openSender({ isOurs: () => promise });
    sender.take([notified], '1-0');
    await settle();
    // Its contact was merged meanwhile.
    const merged = (id: string) => ({ ...messageOf(id), conversation_id: 'c2' });
    sender.accept([merged('1'), merged('2')], 'newer');
    expect(sender.receive([notified])).toBe('nothing');
    answer(true);
    await settle();
    expect(written).toEqual(['3EB01']);
    expect(reported).toMatchObject([
      { kind: 'returned', message_id: '2' },
      { kind: 'sent', message_id: '1' },
    ]);
  });

  test('needs no claim if a claim has brought it', async () => {
    const { sender } = openSender({ report: async () => false });
    sender.accept([messageOf('1')], 'claim');
    expect(sender.receive([notified])).toBe('nothing');
    await settle();
    expect([sender.held, sender.receive([notified]), sender.receive(pair)]).toEqual([0, 'nothing', 'claim']);
  });

  test('is claimed once the held message of its conversation is settled', async () => {
    const { promise, resolve: record } = Promise.withResolvers<boolean>();
    const { sender, stored, settled } = openSender({ report: () => promise });
    sender.accept([messageOf('0')], 'claim');
    expect([[other], pair, [notified]].map((m) => sender.receive(m))).toEqual(['build', 'claim', 'wait']);
    await settle();
    // Sent, and not yet recorded: it is still the first of its conversation.
    expect([sender.receive([notified]), stored.length, settled]).toEqual(['wait', 1, []]);
    // The notified one was accepted after the outcome had been recorded, which did not count it.
    record(false);
    await settle();
    expect(settled).toEqual([{ notification: undefined, waiting: true }]);
  });

  test('that a claim returns meanwhile has one copy, which names that claim', async () => {
    const { promise, resolve: grant } = Promise.withResolvers<boolean>();
    let isOpen = true;
    const { sender, written, reported } = openSender({ isOurs: () => promise, isOpen: () => isOpen });
    sender.take([notified], '1-0');
    await settle();
    sender.accept([messageOf('1')], 'newer');
    isOpen = false;
    grant(true);
    await settle();
    expect([written, sender.held]).toEqual([[], 0]);
    expect(reported).toEqual([{ kind: 'returned', message_id: '1', claim_id: 'newer', unsent: true }]);
  });

  test('is built with the timer of the last claim of its conversation', async () => {
    const timers: unknown[] = [];
    const build = (message: ClaimedMessage) => timers.push(message.timer);
    const { sender, stored } = openSender({ build, report: async () => false });
    const timer = { seconds: 86_400, set_at: '2026-11-20T10:00:00.000Z' };
    sender.accept([{ ...messageOf('0'), timer }], 'claim');
    await settle();
    sender.take([notified], '1-0');
    await settle();
    sender.accept([messageOf('2')], 'claim');
    await settle();
    sender.take([{ ...notified, message_id: '3' }], '2-0');
    await settle();
    expect(timers).toEqual([timer, timer, undefined, undefined]);
    expect(stored.map(({ claim }) => claim?.timer)).toEqual([undefined, timer, undefined, undefined]);
  });
});

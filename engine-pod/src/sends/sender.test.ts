import { messageOf, openSender, settle, unanswered } from '@gwk/test/support/engine/open-sender';
import { SendFailure } from '../driver/driver.js';

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

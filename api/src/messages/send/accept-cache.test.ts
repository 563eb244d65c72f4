import { hash } from 'node:crypto';
import { newUuid } from '@gwk/core/ids';
import { parseRecipient } from '@gwk/core/recipients';
import type { Plan, Request } from './decide.js';
import type { Facts } from './gather.js';
import { Memory } from './accept-cache.js';

const keyNumber = (number: number) => hash('md5', String(number), 'hex');
const KEY = keyNumber(0);
const MESSAGE = newUuid();

interface Given {
  to?: string;
  key?: string;
  replyTo?: string;
  mediaId?: string;
  account?: string;
}
const request = (given: Given = {}): Request => ({
  accountId: given.account ?? 'account',
  instanceId: 'instance',
  recipient: parseRecipient(given.to ?? '5511999990000')!,
  recipientKey: `instance ${given.to ?? '5511999990000'}`,
  recordId: given.key ?? null,
  fingerprint: 'abc',
  replyTo: given.replyTo ?? null,
  mediaId: given.mediaId ?? null,
  visible: null,
  bodyHash: null,
});

const facts = (given: Partial<Facts> = {}): Facts => ({
  at: Date.now(),
  instanceVersion: '7',
  state: 'connected',
  offlineMs: 500,
  warmUpFrom: 0,
  restrictedUntil: null,
  instancePolicy: '{}',
  accountVersion: '3',
  accountPolicy: '{}',
  accountSuspended: false,
  recordHash: null,
  recordMessage: null,
  recordResponse: null,
  contactId: 'contact',
  optedOut: false,
  conversationId: 'conversation',
  counted: true,
  lastWroteAt: 5,
  newContacts: 0,
  oldestNewContact: null,
  massContacts: 0,
  massCounted: false,
  replyOk: true,
  mediaFound: false,
  mediaInstances: null,
  ...given,
});

/** About a tenth of what a process holds. */
const SIZES = { instances: 1_000, recipients: 20_000, texts: 5_000, keys: 8_192 };

const knowing = (given?: Partial<Facts>) => {
  const memory = new Memory(SIZES);
  memory.learn(request(), facts(given));
  return memory;
};

test('of an instance that was never seen nothing is guessed', () => {
  expect(new Memory().guess(request())).toBeNull();
  expect(knowing({ instanceVersion: null }).guess(request())).toBeNull();
});

test('what belongs to one account is not guessed of for another, nor forgotten because another asks', () => {
  const memory = knowing();
  const foreign = request({ account: 'other' });
  expect(memory.guess(foreign)).toBeNull();
  memory.learn(foreign, facts({ instanceVersion: null }));
  expect(memory.guess(request())).not.toBeNull();
  memory.learn(request(), facts({ instanceVersion: null }));
  expect(memory.guess(request())).toBeNull();
});

test('of recipients of an instance nothing is learned from who has no right to it', () => {
  const memory = knowing();
  memory.learn(
    request({ account: 'other' }),
    facts({ instanceVersion: null, contactId: 'theirs', conversationId: null }),
  );
  expect(memory.guess(request())).toMatchObject({ contactId: 'contact', conversationId: 'conversation' });
});

test('what was seen is guessed again', () => {
  expect(knowing().guess(request())).toMatchObject({
    instanceVersion: '7',
    accountVersion: '3',
    contactId: 'contact',
    conversationId: 'conversation',
    counted: true,
    lastWroteAt: 5,
    offlineMs: 500,
  });
});

test('whoever was never seen is taken for a stranger', () => {
  const guess = knowing().guess(request({ to: '5511888880000' }));
  expect(guess).toMatchObject({ contactId: null, conversationId: null, counted: false, lastWroteAt: null });
});

test('what was written is known', () => {
  const memory = knowing();
  const to = '5511888880000';
  const plan = { contactId: 'c', conversationId: 'v', counted: false, lastWroteAt: null } as Plan;
  memory.learnWritten(request({ to }), { ...plan, newContact: { limit: 1, rank: 1 } }, 'm');
  expect(memory.guess(request({ to }))).toMatchObject({ contactId: 'c', conversationId: 'v', counted: true });
});

describe('a repeat', () => {
  const plan = { contactId: 'c', conversationId: 'v', lastWroteAt: null, releaseAt: null } as Plan;
  const keyed = (bodyHash: number, key = KEY) => ({
    ...request({ key }),
    bodyHash: Buffer.alloc(16, bodyHash),
  });
  const knowingKey = (given: Partial<Plan> = {}) => {
    const memory = knowing();
    const first = keyed(1);
    memory.guess(first);
    memory.learnWritten(first, { ...plan, ...given }, MESSAGE);
    return memory;
  };

  test('of what was written is guessed to be one', () => {
    expect(knowingKey().guess(keyed(1))).toMatchObject({
      recordMessage: MESSAGE,
      recordHash: Buffer.alloc(16, 1),
      recordResponse: null,
    });
  });

  test('with another body is asked about', () => expect(knowingKey().guess(keyed(2))).toBeNull());

  test('of another account is none', () => {
    expect(knowingKey().guess({ ...keyed(1), accountId: 'other' })).toBeNull();
    const memory = knowingKey();
    memory.learn(request({ account: 'other' }), facts());
    expect(memory.guess({ ...keyed(1), accountId: 'other', recordId: keyNumber(7) })).toMatchObject({
      recordMessage: null,
    });
  });

  test('of what was scheduled is asked about: its answer is kept elsewhere', () => {
    expect(knowingKey({ releaseAt: new Date() }).guess(keyed(1))).toBeNull();
  });

  test('is known for one at any time, however many keys have been used', () => {
    const memory = knowing();
    let lost = 0;
    for (let number = 0; number < 15_000; number++) {
      const first = keyed(1, keyNumber(number));
      expect(memory.guess(first)).not.toBeNull();
      memory.learnWritten(first, plan, MESSAGE);
      if (number < 200) continue;
      const repeat = memory.guess(keyed(1, keyNumber(number - 200)));
      if (repeat?.recordMessage !== MESSAGE) lost++;
    }
    expect(lost).toBe(0);
  });
});

test('whoever is written to is no stranger at any time, however many others are', () => {
  const memory = knowing();
  const plan = { contactId: 'c', conversationId: 'v', counted: false, lastWroteAt: null } as Plan;
  const regular = request({ to: '5511888880000' });
  memory.learnWritten(regular, { ...plan, contactId: 'regular' }, MESSAGE);
  for (let number = 0; number < 45_000; number++) {
    memory.learnWritten({ ...regular, recipientKey: `instance ${number}` }, plan, MESSAGE);
    if (number % 1_000 > 0) continue;
    expect(memory.guess(regular)).toMatchObject({ contactId: 'regular' });
  }
});

test('a key is guessed for once, a quote never', () => {
  const memory = knowing();
  expect(memory.guess(request({ key: KEY }))).not.toBeNull();
  expect(memory.guess(request({ key: KEY }))).toBeNull();
  expect(memory.guess(request({ replyTo: 'message' }))).toBeNull();
  expect(memory.guess(request({ mediaId: 'file' }))).toBeNull();
});

test('the out clock of an instance that is away runs on', () => {
  const now = jest.spyOn(Date, 'now').mockReturnValue(1_000_000);
  const memory = knowing({ state: 'disconnected', at: 1_000_000 });
  now.mockReturnValue(1_003_000);
  expect(memory.guess(request())!.offlineMs).toBe(3_500);
  now.mockRestore();
});

test('the time is that of Postgres', () => {
  const ahead = Date.now() + 3_600_000;
  expect(knowing({ at: ahead }).guess(request())!.at).toBeGreaterThanOrEqual(ahead);
});

describe('how many contacts a text has reached', () => {
  const text = (count: number, number: number) => ({ count, number });
  const learned = (...given: [count: number, number: number, minutes?: number][]) => {
    const memory = new Memory();
    for (const [count, number, minutes = 60] of given) memory.learnText('text', text(count, number), minutes);
    return memory.textOf('text', 60);
  };

  test('is not known before it was counted', () => expect(learned()).toBeNull());
  test('is known for the window that was counted', () => {
    expect(learned([3, 10])).toMatchObject(text(3, 10));
    expect(learned([3, 10, 90])).toBeNull();
  });
  test('is what the newest group said', () => {
    expect(learned([3, 10], [7, 12])).toMatchObject(text(7, 12));
    expect(learned([7, 12], [3, 10])).toMatchObject(text(7, 12));
    expect(learned([7, 12], [2, 13])).toMatchObject(text(2, 13));
  });
  test('is all that one group added', () => {
    expect(learned([3, 10], [5, 10], [4, 10])).toMatchObject(text(5, 10));
  });
  test('is known of each text', () => {
    const memory = new Memory();
    memory.learnText('text', text(3, 10), 60);
    expect(memory.textOf('another', 60)).toBeNull();
  });
});

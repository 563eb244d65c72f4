import type { Plan } from './decide.js';
import { layOut } from './layout.js';

interface Given {
  instance?: string;
  version?: string;
  conversation?: string;
  makes?: 'conversation' | 'contact';
  contact?: string | null;
  isNew?: boolean;
  isCounted?: boolean;
  isScheduled?: boolean;
}

const entry = (given: Given) => ({
  request: { accountId: 'account', instanceId: given.instance ?? 'i1' },
  plan: {
    accountVersion: '9',
    instanceVersion: given.version ?? '1',
    conversationId: given.conversation ?? 'c1',
    makesConversation: given.makes !== undefined,
    contactId: given.contact === undefined ? 'p1' : given.contact,
    makesContact: given.makes === 'contact',
    newContact: given.isNew ? { limit: 5, rank: 1 } : null,
    mass: given.isCounted ? { room: null, minutes: 60 } : null,
    releaseAt: given.isScheduled ? new Date() : null,
  } as Plan,
});
const layoutOf = (...given: Given[]) => layOut(given.map(entry));

test('a row that was seen is told once for each version, and each request names its place', () => {
  const { instances, accounts } = layoutOf({}, { instance: 'i2' }, { version: '2' }, {});
  expect(instances).toEqual({ ids: ['i1', 'i2', 'i1'], versions: ['1', '1', '2'], places: [1, 2, 3, 1] });
  expect(accounts).toEqual({ ids: ['account'], versions: ['9'], places: [1, 1, 1, 1] });
});

test('places in a conversation are taken in the order of the group, not by scheduled ones', () => {
  const { ranks, chats } = layoutOf({}, { conversation: 'c2' }, { isScheduled: true }, {});
  expect(ranks).toEqual([1, 1, 1, 2]);
  expect(chats).toEqual([
    { id: 'c1', first: 1, amount: 2, number: 0 },
    { id: 'c2', first: 2, amount: 1, number: 0 },
  ]);
});

test('new contacts are numbered within their instance, each once', () => {
  const { chats, ledgers } = layoutOf(
    { conversation: 'c1', isNew: true },
    { conversation: 'c2', isNew: true, instance: 'i2' },
    { conversation: 'c1', isNew: true },
    { conversation: 'c3', isNew: true },
  );
  expect(chats.map(({ id, number }) => [id, number])).toEqual([
    ['c1', 1],
    ['c2', 1],
    ['c3', 2],
  ]);
  expect(ledgers).toEqual([
    { id: 'i1', news: 2, texts: 0 },
    { id: 'i2', news: 1, texts: 0 },
  ]);
});

test('every text that is counted adds to its instance, also where its contact was counted before', () => {
  expect(layoutOf({ isCounted: true }, { isCounted: true }, {}).ledgers).toEqual([
    { id: 'i1', news: 0, texts: 2 },
  ]);
});

test('without limits no ledger is taken', () => expect(layoutOf({}, {}).ledgers).toEqual([]));

test('what is to be locked is there, told once, and sorted', () => {
  const given = layoutOf(
    { conversation: 'c9' },
    { conversation: 'c1' },
    { conversation: 'c9' },
    { conversation: 'c5', makes: 'conversation', contact: 'p9' },
    { conversation: 'c6', makes: 'conversation', contact: 'p1' },
    { conversation: 'c7', makes: 'contact', contact: 'p5' },
    { conversation: 'c8', makes: 'conversation', contact: null },
    { instance: 'i9', isCounted: true },
    { instance: 'i5', isCounted: true },
  );
  expect(given.conversations).toEqual(['c1', 'c9']);
  expect(given.contacts).toEqual(['p1', 'p9']);
  expect(given.ledgers.map(({ id }) => id)).toEqual(['i5', 'i9']);
});

import { layOutBatch } from './batch-layout.js';
import type { WritePlan } from '../decide.js';

interface Given {
  instance?: string;
  version?: string;
  conversation?: string;
  creates?: 'conversation' | 'contact';
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
    createsConversation: given.creates !== undefined,
    contactId: given.contact === undefined ? 'p1' : given.contact,
    createsContact: given.creates === 'contact',
    newContact: given.isNew ? { limit: 5, rank: 1 } : null,
    mass: given.isCounted ? { check: null, minutes: 60 } : null,
    releaseAt: given.isScheduled ? new Date() : null,
  } as WritePlan,
});
const layOut = (...given: Given[]) => layOutBatch(given.map(entry));

test('lists each row version once, and its position for each request', () => {
  const { instances, accounts } = layOut({}, { instance: 'i2' }, { version: '2' }, {});
  expect(instances).toEqual({ ids: ['i1', 'i2', 'i1'], versions: ['1', '1', '2'], positions: [1, 2, 3, 1] });
  expect(accounts).toEqual({ ids: ['account'], versions: ['9'], positions: [1, 1, 1, 1] });
});

test('assigns sequence numbers in batch order, none to scheduled messages', () => {
  const { ranks, conversations } = layOut({}, { conversation: 'c2' }, { isScheduled: true }, {});
  expect(ranks).toEqual([1, 1, 1, 2]);
  expect(conversations).toEqual([
    { id: 'c1', firstPosition: 1, seqCount: 2, newContactNumber: 0 },
    { id: 'c2', firstPosition: 2, seqCount: 1, newContactNumber: 0 },
  ]);
});

test('numbers each new contact once within its instance', () => {
  const { conversations, counters } = layOut(
    { conversation: 'c1', isNew: true },
    { conversation: 'c2', isNew: true, instance: 'i2' },
    { conversation: 'c1', isNew: true },
    { conversation: 'c3', isNew: true },
  );
  expect(conversations.map(({ id, newContactNumber }) => [id, newContactNumber])).toEqual([
    ['c1', 1],
    ['c2', 1],
    ['c3', 2],
  ]);
  expect(counters).toEqual([
    { instanceId: 'i1', newContacts: 2, texts: 0 },
    { instanceId: 'i2', newContacts: 1, texts: 0 },
  ]);
});

test('counts every text of an instance, also to a contact that was counted before', () => {
  expect(layOut({ isCounted: true }, { isCounted: true }, {}).counters).toEqual([
    { instanceId: 'i1', newContacts: 0, texts: 2 },
  ]);
});

test('locks no counters without limits', () => expect(layOut({}, {}).counters).toEqual([]));

test('lists the existing rows to lock once, sorted', () => {
  const given = layOut(
    { conversation: 'c9' },
    { conversation: 'c1' },
    { conversation: 'c9' },
    { conversation: 'c5', creates: 'conversation', contact: 'p9' },
    { conversation: 'c6', creates: 'conversation', contact: 'p1' },
    { conversation: 'c7', creates: 'contact', contact: 'p5' },
    { conversation: 'c8', creates: 'conversation', contact: null },
    { instance: 'i9', isCounted: true },
    { instance: 'i5', isCounted: true },
  );
  expect(given.lockedConversations).toEqual(['c1', 'c9']);
  expect(given.lockedContacts).toEqual(['p1', 'p9']);
  expect(given.counters.map(({ instanceId }) => instanceId)).toEqual(['i5', 'i9']);
});

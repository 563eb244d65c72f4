import { parseRecipient } from '@gwk/core/recipients';
import { AcceptCache } from './accept-cache.js';
import type { SendRequest, WritePlan } from '../decide.js';
import type { Facts } from '../gather.js';

interface Given {
  to?: string;
  replyTo?: string;
  mediaId?: string;
  account?: string;
}
const request = (given: Given = {}): SendRequest => ({
  accountId: given.account ?? 'account',
  instanceId: 'instance',
  recipient: parseRecipient(given.to ?? '5511999990000')!,
  recipientKey: `instance ${given.to ?? '5511999990000'}`,
  recordId: null,
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

/** About a tenth of the default sizes. */
const SIZES = { instances: 1_000, recipients: 20_000, texts: 5_000 };

const createCache = (given?: Partial<Facts>) => {
  const cache = new AcceptCache(SIZES);
  cache.storeFacts(request(), facts(given));
  return cache;
};

test('predicts nothing for an unknown instance', () => {
  expect(new AcceptCache().predict(request())).toBeNull();
  expect(createCache({ instanceVersion: null }).predict(request())).toBeNull();
});

test('predicts nothing for another account, and keeps the instance when another account asks for it', () => {
  const cache = createCache();
  const foreign = request({ account: 'other' });
  expect(cache.predict(foreign)).toBeNull();
  cache.storeFacts(foreign, facts({ instanceVersion: null }));
  expect(cache.predict(request())).not.toBeNull();
  cache.storeFacts(request(), facts({ instanceVersion: null }));
  expect(cache.predict(request())).toBeNull();
});

test('ignores recipients that another account reads for an instance', () => {
  const cache = createCache();
  cache.storeFacts(
    request({ account: 'other' }),
    facts({ instanceVersion: null, contactId: 'theirs', conversationId: null }),
  );
  expect(cache.predict(request())).toMatchObject({ contactId: 'contact', conversationId: 'conversation' });
});

test('predicts the facts that were read', () => {
  expect(createCache().predict(request())).toMatchObject({
    instanceVersion: '7',
    accountVersion: '3',
    contactId: 'contact',
    conversationId: 'conversation',
    counted: true,
    lastWroteAt: 5,
    offlineMs: 500,
  });
});

test('predicts that an unknown recipient is a new contact', () => {
  const prediction = createCache().predict(request({ to: '5511888880000' }));
  expect(prediction).toMatchObject({
    contactId: null,
    conversationId: null,
    counted: false,
    lastWroteAt: null,
  });
});

test('predicts the rows that were written', () => {
  const cache = createCache();
  const to = '5511888880000';
  const plan = { contactId: 'c', conversationId: 'v', counted: false, lastWroteAt: null } as WritePlan;
  cache.storeWritten(request({ to }), { ...plan, newContact: { limit: 1, rank: 1 } });
  expect(cache.predict(request({ to }))).toMatchObject({
    contactId: 'c',
    conversationId: 'v',
    counted: true,
  });
});

test('keeps a recipient in use among thousands of others', () => {
  const cache = createCache();
  const plan = { contactId: 'c', conversationId: 'v', counted: false, lastWroteAt: null } as WritePlan;
  const regular = request({ to: '5511888880000' });
  cache.storeWritten(regular, { ...plan, contactId: 'regular' });
  for (let number = 0; number < 45_000; number++) {
    cache.storeWritten({ ...regular, recipientKey: `instance ${number}` }, plan);
    if (number % 1_000 > 0) continue;
    expect(cache.predict(regular)).toMatchObject({ contactId: 'regular' });
  }
});

test('never predicts a quote or a media file', () => {
  const cache = createCache();
  expect(cache.predict(request({ replyTo: 'message' }))).toBeNull();
  expect(cache.predict(request({ mediaId: 'file' }))).toBeNull();
});

test('adds the time since the read to the offline time of a disconnected instance', () => {
  const now = jest.spyOn(Date, 'now').mockReturnValue(1_000_000);
  const cache = createCache({ state: 'disconnected', at: 1_000_000 });
  now.mockReturnValue(1_003_000);
  expect(cache.predict(request())!.offlineMs).toBe(3_500);
  now.mockRestore();
});

test('uses the clock of Postgres', () => {
  const ahead = Date.now() + 3_600_000;
  expect(createCache({ at: ahead }).predict(request())!.at).toBeGreaterThanOrEqual(ahead);
});

describe('the count of a text', () => {
  const text = (count: number, textTotal: number) => ({ count, textTotal });
  const storeAndFind = (...given: [count: number, textTotal: number, minutes?: number][]) => {
    const cache = new AcceptCache();
    for (const [count, textTotal, minutes = 60] of given)
      cache.storeTextCount('text', text(count, textTotal), minutes);
    return cache.findTextCount('text', 60);
  };

  test('is unknown before the first count', () => expect(storeAndFind()).toBeNull());
  test('is known for the counted window only', () => {
    expect(storeAndFind([3, 10])).toMatchObject(text(3, 10));
    expect(storeAndFind([3, 10, 90])).toBeNull();
  });
  test('is that of the newest batch', () => {
    expect(storeAndFind([3, 10], [7, 12])).toMatchObject(text(7, 12));
    expect(storeAndFind([7, 12], [3, 10])).toMatchObject(text(7, 12));
    expect(storeAndFind([7, 12], [2, 13])).toMatchObject(text(2, 13));
  });
  test('is the highest of one batch', () => {
    expect(storeAndFind([3, 10], [5, 10], [4, 10])).toMatchObject(text(5, 10));
  });
  test('is separate for each text', () => {
    const cache = new AcceptCache();
    cache.storeTextCount('text', text(3, 10), 60);
    expect(cache.findTextCount('another', 60)).toBeNull();
  });
});

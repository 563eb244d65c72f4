import { computeHealthScore, type HealthFacts } from './score.js';

const now = new Date('2026-11-21T12:00:00Z');
const days = (count: number): Date => new Date(now.getTime() + count * 86_400_000);

/** A healthy instance after its warm-up. */
const WELL: HealthFacts = {
  now,
  warmUpEndsAt: days(-100),
  banned: false,
  restrictedUntil: null,
  bans: 0,
  sent: 1000,
  delivered: 990,
  readable: 990,
  read: 700,
  failed: 5,
  newContacts: 100,
  newContactsWhoReplied: 40,
  newContactsToday: 20,
  newContactsLimit: 250,
  contacts: 500,
  optOuts: 1,
  reconnections: 1,
};

const compute = (facts: Partial<HealthFacts>) => computeHealthScore({ ...WELL, ...facts }, 'pt');
const factor = (facts: Partial<HealthFacts>, key: string) =>
  compute(facts).factors.find((found) => found.key === key)!;

test('gives a healthy instance 100 points, low risk and no recommendations', () => {
  const health = compute({});
  expect(health).toMatchObject({ score: 100, risk: 'low', warming_up: false, recommendations: [] });
  expect(health.factors.map(({ key, status, penalty }) => [key, status, penalty])).toEqual([
    ['restrictions', 'ok', 0],
    ['delivery_ratio', 'ok', 0],
    ['read_ratio', 'ok', 0],
    ['reply_ratio', 'ok', 0],
    ['new_contacts', 'ok', 0],
    ['opt_out_ratio', 'ok', 0],
    ['failure_ratio', 'ok', 0],
    ['reconnections', 'ok', 0],
    ['warm_up', 'ok', 0],
  ]);
});

test.each<[name: string, facts: Partial<HealthFacts>, key: string, status: string, penalty: number]>([
  ['89.9 % delivered', { sent: 1000, delivered: 899 }, 'delivery_ratio', 'attention', 10],
  ['90 % delivered', { sent: 1000, delivered: 900 }, 'delivery_ratio', 'ok', 0],
  ['69.9 % delivered', { sent: 1000, delivered: 699 }, 'delivery_ratio', 'bad', 25],
  ['29 % read', { readable: 100, read: 29 }, 'read_ratio', 'attention', 5],
  ['9 % read', { readable: 100, read: 9 }, 'read_ratio', 'bad', 10],
  [
    '9 % of new contacts reply',
    { newContacts: 100, newContactsWhoReplied: 9 },
    'reply_ratio',
    'attention',
    5,
  ],
  ['2 % of new contacts reply', { newContacts: 100, newContactsWhoReplied: 2 }, 'reply_ratio', 'bad', 15],
  ['80 % of the limit', { newContactsToday: 200 }, 'new_contacts', 'attention', 5],
  ['the whole limit', { newContactsToday: 250 }, 'new_contacts', 'bad', 15],
  ['1 % opt out', { contacts: 500, optOuts: 5 }, 'opt_out_ratio', 'attention', 10],
  ['3 % opt out', { contacts: 500, optOuts: 15 }, 'opt_out_ratio', 'bad', 25],
  ['2 % fail', { sent: 980, failed: 20 }, 'failure_ratio', 'attention', 5],
  ['10 % fail', { sent: 900, failed: 100 }, 'failure_ratio', 'bad', 15],
  ['5 drops a day', { reconnections: 5 }, 'reconnections', 'attention', 5],
  ['20 drops a day', { reconnections: 20 }, 'reconnections', 'bad', 15],
  ['an instance in warm-up', { warmUpEndsAt: days(3) }, 'warm_up', 'attention', 10],
  ['an instance that was never paired', { warmUpEndsAt: null }, 'warm_up', 'attention', 10],
  ['a ban now', { banned: true }, 'restrictions', 'bad', 100],
  ['a restriction now', { restrictedUntil: days(1) }, 'restrictions', 'bad', 40],
  ['a recent ban', { bans: 1 }, 'restrictions', 'attention', 20],
  ['a restriction that ended 6 days ago', { restrictedUntil: days(-6) }, 'restrictions', 'attention', 20],
  ['a restriction that ended 8 days ago', { restrictedUntil: days(-8) }, 'restrictions', 'ok', 0],
])('%s', (_, facts, key, ...[status, penalty]) => {
  expect(factor(facts, key)).toMatchObject({ status, penalty });
  const health = compute(facts);
  expect(health.score).toBe(100 - penalty);
  expect(health.recommendations).toHaveLength(status === 'ok' ? 0 : 1);
});

test('ignores ratios of fewer than 20 cases', () => {
  const few = { sent: 19, delivered: 0, readable: 19, read: 0, failed: 0, newContacts: 19, contacts: 19 };
  const health = compute({ ...few, newContactsWhoReplied: 0, optOuts: 19 });
  expect(health.score).toBe(100);
  const ignored = health.factors.filter(({ status }) => status === 'info');
  expect(ignored.map(({ key, value }) => [key, value])).toEqual([
    ['delivery_ratio', null],
    ['read_ratio', null],
    ['reply_ratio', null],
    ['opt_out_ratio', null],
    ['failure_ratio', null],
  ]);
});

test('has no penalty for a limit of 0 new contacts', () => {
  expect(factor({ newContactsLimit: 0, newContactsToday: 0 }, 'new_contacts')).toMatchObject({
    penalty: 0,
    value: 0,
  });
});

test.each([
  ['low from 80 points', { bans: 1 }, 80, 'low'],
  ['medium below', { bans: 1, reconnections: 5 }, 75, 'medium'],
  ['medium from 50', { restrictedUntil: days(1), warmUpEndsAt: days(1) }, 50, 'medium'],
  ['high below', { restrictedUntil: days(1), newContactsToday: 250 }, 45, 'high'],
] as const)('risk is %s', (_, facts, score, risk) => {
  expect(compute(facts)).toMatchObject({ score, risk });
});

test('never goes below 0', () => {
  expect(compute({ banned: true, reconnections: 50, newContactsToday: 400 })).toMatchObject({
    score: 0,
    risk: 'high',
  });
});

test('returns the end of the warm-up, or null before the first pairing', () => {
  expect(compute({ warmUpEndsAt: days(3) })).toMatchObject({
    warming_up: true,
    warmup_ends_at: days(3).toISOString(),
  });
  expect(compute({ warmUpEndsAt: null })).toMatchObject({ warming_up: true, warmup_ends_at: null });
});

test('explains each factor and gives advice in the language asked for', () => {
  const bad = { ...WELL, delivered: 600, bans: 1, warmUpEndsAt: days(3) };
  const english = computeHealthScore(bad, 'en');
  const portuguese = computeHealthScore(bad, 'pt');
  const delivery = ({ factors }: typeof english) => factors.find(({ key }) => key === 'delivery_ratio')!;
  expect(delivery(english)).toMatchObject({ label: 'Delivery', detail: '600 of 1000 (60.0%) in 7 days.' });
  expect(delivery(portuguese)).toMatchObject({ label: 'Entrega', detail: '600 de 1000 (60,0%) em 7 dias.' });
  expect(english.recommendations).toHaveLength(3);
  const texts = (health: typeof english): string[] => [
    ...health.factors.flatMap(({ label, detail }) => [label, detail]),
    ...health.recommendations,
  ];
  const [en, pt] = [texts(english), texts(portuguese)];
  expect(en.filter((text, at) => text === pt[at])).toEqual([]);
  expect(en.filter((text) => /[ãõçáéíóúâêôà]/.test(text))).toEqual([]);
});

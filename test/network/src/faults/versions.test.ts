import { readVersion, Versions, type ClientVersion, type LoginKind, type OldestVersion } from './versions.js';

const OLDEST: ClientVersion = [2, 3000, 200];
const BOTH: LoginKind[] = ['linking', 'login'];

function versions(oldest: Partial<OldestVersion> = {}, kinds: LoginKind[] = BOTH): Versions {
  const all = new Versions();
  all.require(kinds, { version: OLDEST, ...oldest });
  return all;
}

test.each<[ClientVersion, number | undefined]>([
  [[2, 3000, 199], 405],
  [[2, 3000, 200], undefined],
  [[2, 3000, 201], undefined],
  [[2, 2999, 900], 405],
  [[1, 9999, 900], 405],
  [[3, 0, 0], undefined],
])('with a minimum of 2.3000.200, the refusal of %j is %j', (version, reason) => {
  for (const kind of BOTH) expect(versions().refusal(kind, version, '1')).toBe(reason);
});

const OLD: ClientVersion = [2, 3000, 1];

test('refuses one kind of login alone, with the given reason', () => {
  const some = versions({ reason: 409 }, ['linking']);
  expect(some.refusal('linking', OLD, undefined)).toBe(409);
  expect(some.refusal('login', OLD, '1')).toBeUndefined();
});

test('refuses listed phone numbers, and a new device once its phone number is known', () => {
  const some = versions({ numbers: ['1', '2'] });
  expect(['1', '2', '3', undefined].map((number) => some.refusal('linking', OLD, number))).toEqual([
    ...[405, 405],
    ...[undefined, undefined],
  ]);
});

test('refuses a share of the phone numbers, always the same ones', () => {
  const numbers = Array.from({ length: 1000 }, (_, place) => `55119${place}`);
  const refused = (share: number) =>
    numbers.filter((number) => versions({ share }).refusal('login', OLD, number) === 405);
  expect(refused(0)).toEqual([]);
  expect(refused(1)).toEqual(numbers);
  const quarter = refused(0.25);
  expect(quarter.length).toBeGreaterThan(200);
  expect(quarter.length).toBeLessThan(300);
  expect(refused(0.5)).toEqual(expect.arrayContaining(quarter));
});

test('accepts all versions without a minimum', () => {
  const none = versions();
  none.require(['login'], undefined);
  expect(none.refusal('login', OLD, '1')).toBeUndefined();
  expect(none.refusal('linking', OLD, '1')).toBe(405);
});

test('reads the version of a client', () => {
  const appVersion = { primary: 2, secondary: 3000, tertiary: 1_043_857_760 };
  expect(readVersion({ userAgent: { appVersion } } as Parameters<typeof readVersion>[0])).toEqual([
    ...[2, 3000, 1_043_857_760],
  ]);
  expect(readVersion({} as Parameters<typeof readVersion>[0])).toEqual([0, 0, 0]);
});

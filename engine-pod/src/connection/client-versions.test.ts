import { BUNDLED } from '@gwk/core/client-version';
import type { CallBody, EngineResponse } from '@gwk/core/protocol/engine';
import { createLogger } from '@gwk/core/process/log';
import { ClientVersions } from './client-versions.js';

const SERVED = '2.3000.1044142122';
const PIN = '2.3000.1045000000';

type Answer = EngineResponse<'client-version'>;
const named = (version: string | null, given: Partial<Answer> = {}): Answer => ({
  version,
  target: '/',
  retry_after_ms: null,
  ...given,
});

function create(setting = 'auto', isWaiting = false) {
  const asked: CallBody<'client-version'>[] = [];
  const answers: (Answer | Error)[] = [];
  const refused: string[] = [];
  const waits: number[] = [];
  const versions = new ClientVersions({
    setting,
    isWaiting,
    log: createLogger('test', 'silent'),
    ask: async (question) => {
      asked.push(question);
      const answer = answers.shift();
      if (!answer || answer instanceof Error) throw answer ?? new Error('not expected');
      return answer;
    },
    countRefusal: (version) => refused.push(version),
    wait: async (ms) => waits.push(ms),
  });
  return { versions, asked, answers, refused, waits };
}

test('asks before each connection', async () => {
  const { versions, asked, answers } = create();
  answers.push(named(SERVED), named(PIN));
  expect([await versions.choose(false), versions.current]).toEqual([SERVED, SERVED]);
  expect(await versions.choose(true)).toBe(PIN);
  expect(asked).toMatchObject([
    {
      event: 'connecting',
      version: null,
      bundled: BUNDLED.version,
      setting: 'auto',
      pairing: false,
      refused: [],
    },
    { event: 'connecting', pairing: true },
  ]);
});

test('without an answer of the API, uses the bundled version, and later the last one', async () => {
  const { versions, answers } = create();
  expect(await versions.choose(false)).toBe(BUNDLED.version);
  answers.push(named(SERVED), new Error('unreachable'));
  await versions.choose(false);
  expect(await versions.choose(false)).toBe(SERVED);
});

test('states what the network has refused until the target changes', async () => {
  const { versions, asked, answers, refused } = create();
  answers.push(named(BUNDLED.version), named(SERVED), named(null), named(null), named(PIN, { target: 'x/' }));
  await versions.choose(false);
  expect(await versions.replaceRefused(BUNDLED.version, false)).toBe(SERVED);
  expect(await versions.replaceRefused(SERVED, false)).toBeNull();
  expect(await versions.findNew()).toBe(false);
  expect(await versions.findNew()).toBe(true);
  expect(asked.map(({ event, version, refused: past }) => [event, version, past])).toEqual([
    ['connecting', null, []],
    ['refused', BUNDLED.version, [BUNDLED.version]],
    ['refused', SERVED, [BUNDLED.version, SERVED]],
    ['waiting', null, [BUNDLED.version, SERVED]],
    ['waiting', null, [BUNDLED.version, SERVED]],
  ]);
  expect(await versions.choose(false)).toBe(PIN);
  answers.push(named(null, { target: 'x/' }));
  await versions.replaceRefused(PIN, false);
  expect(asked.at(-1)).toMatchObject({ refused: [PIN], target: 'x/' });
  expect(refused).toEqual([BUNDLED.version, SERVED, PIN]);
});

test('keeps the refusal of this moment when its answer brings a new target', async () => {
  const { versions, asked, answers } = create();
  answers.push(named(null, { target: 'new' }), named(null, { target: 'new' }));
  await versions.replaceRefused(BUNDLED.version, false);
  await versions.findNew();
  expect(asked[1]).toMatchObject({ refused: [BUNDLED.version], target: 'new' });
});

test('asks while it waits, and no longer once the network has accepted a version', async () => {
  const { versions, answers, asked } = create('auto', true);
  answers.push(named(SERVED), named(null));
  expect(await versions.findNew()).toBe(true);
  expect(await versions.choose(false)).toBe(SERVED);
  versions.confirm(SERVED);
  expect(await versions.findNew()).toBe(false);
  expect(asked.map(({ event }) => event)).toEqual(['waiting', 'connected']);
});

test('does not use a version that was found while the delay ended', async () => {
  const { versions, answers } = create('auto', true);
  answers.push(named(SERVED), named(PIN), named(null), named(null));
  const [found, chosen] = await Promise.all([versions.findNew(), versions.choose(false)]);
  expect([found, chosen]).toEqual([true, PIN]);
  versions.confirm(PIN);
  expect(await versions.choose(false)).toBeNull();
});

test('expects a version only if the API does', async () => {
  const { versions, answers } = create();
  answers.push(named(null, { retry_after_ms: 2_000 }), named(null), new Error('unreachable'));
  for (const isExpected of [true, false, false]) {
    expect(await versions.replaceRefused(BUNDLED.version, false)).toBeNull();
    expect(versions.isExpected).toBe(isExpected);
  }
});

test('a pairing waits some seconds for a version that is being read', async () => {
  const { versions, answers, waits } = create();
  const soon = named(null, { retry_after_ms: 2_000 });
  answers.push(soon, soon, named(SERVED));
  expect(await versions.replaceRefused(BUNDLED.version, true)).toBe(SERVED);
  expect(waits).toEqual([2_000, 2_000]);
  answers.push(soon, soon, soon, soon, soon);
  expect(await versions.replaceRefused(SERVED, true)).toBeNull();
  expect([waits.length, answers.length]).toEqual([6, 0]);
});

test('a version in the setting asks nobody', async () => {
  const { versions, asked, refused } = create(PIN);
  expect(await versions.choose(false)).toBe(PIN);
  versions.confirm(PIN);
  expect(await versions.replaceRefused(PIN, false)).toBeNull();
  expect([await versions.findNew(), asked, refused]).toEqual([false, [], [PIN]]);
});

test('the setting bundled asks for a pinned version', async () => {
  const { versions, asked, answers } = create('bundled');
  answers.push(named(PIN));
  expect(await versions.choose(false)).toBe(PIN);
  expect(asked).toMatchObject([{ setting: 'bundled' }]);
});

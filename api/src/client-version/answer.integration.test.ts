import { BUNDLED } from '@gwk/core/client-version';
import type { CallBody } from '@gwk/core/protocol/engine';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';
import { claimRead, pinClientVersion, readClientVersions, storeFault, storeServed } from './store.js';

const SERVED = '2.3000.1044142122';
const PIN = '2.3000.1045000000';

let internalApi: InternalApiWorld;
let first: TestEngine;
let second: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  first = await (await internalApi.addEngine()).acquire();
  second = await (await internalApi.addEngine()).acquire();
});
beforeEach(async () => {
  const { database } = internalApi.world;
  await database.clientVersion.deleteMany();
  await database.clientVersionState.deleteMany();
  await database.clientVersionState.create({ data: {} });
});
afterAll(() => internalApi.close());

type Asked = CallBody<'client-version'>;

const db = () => internalApi.world.database;
const ask = (engine: TestEngine, given: Partial<Asked> = {}) =>
  engine.call('client-version', {
    event: 'connecting',
    version: null,
    bundled: BUNDLED.version,
    setting: 'auto',
    pairing: false,
    refused: [],
    target: null,
    ...given,
  });
const serve = (version = SERVED) => storeServed(db(), { version, from: 'test', pauseMs: 3_600_000 });
const readState = async () => (await readClientVersions(db())).state;
const refuse = (engine: TestEngine, version: string) =>
  ask(engine, { event: 'refused', version, refused: [version] });

test('one engine tries a served version; the others follow once it has logged in', async () => {
  await serve();
  expect(await ask(first)).toMatchObject({ version: SERVED });
  expect(await ask(second)).toMatchObject({ version: BUNDLED.version });
  await ask(first, { event: 'connected', version: SERVED });
  expect(await ask(second)).toMatchObject({ version: SERVED, retry_after_ms: null });
});

test('of many engines that ask at once, one tries the served version', async () => {
  await serve();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, place) => ask(place % 2 === 0 ? first : second)),
  );
  const state = await readState();
  const tried = state.trialInstance === first.instanceId ? 0 : 1;
  expect(answers.map(({ version }) => version)).toEqual(
    answers.map((_, place) => (place % 2 === tried ? SERVED : BUNDLED.version)),
  );
});

test('a served version that is refused leads back to the one that logged in', async () => {
  await ask(second, { event: 'connected', version: BUNDLED.version });
  await serve();
  expect(await ask(first)).toMatchObject({ version: SERVED });
  expect(await refuse(first, SERVED)).toMatchObject({ version: BUNDLED.version });
  expect(await ask(second)).toMatchObject({ version: BUNDLED.version });
});

test('a refusal makes a read due, but not within ten minutes of the last one', async () => {
  expect(await claimRead(db(), 3_600_000)).toBe(true);
  expect(await claimRead(db(), 3_600_000)).toBe(false);
  // The read is running.
  expect(await refuse(first, BUNDLED.version)).toMatchObject({ version: null, retry_after_ms: 2_000 });
  await storeFault(db(), 'no_revision');
  expect(await refuse(first, BUNDLED.version)).toMatchObject({ version: null, retry_after_ms: null });
  const { triedAt, dueAt } = await readState();
  expect(dueAt.getTime() - triedAt!.getTime()).toBe(600_000);
  await refuse(second, BUNDLED.version);
  expect((await readState()).dueAt).toEqual(dueAt);
  await db().clientVersionState.updateMany({ data: { triedAt: new Date(Date.now() - 600_000) } });
  expect(await refuse(second, BUNDLED.version)).toMatchObject({ version: null, retry_after_ms: 2_000 });
  expect(await claimRead(db(), 3_600_000)).toBe(true);
});

test('two reads are ten minutes apart, whatever the time of the next one says', async () => {
  expect(await claimRead(db(), 3_600_000)).toBe(true);
  await db().clientVersionState.updateMany({ data: { dueAt: new Date(0) } });
  expect(await claimRead(db(), 3_600_000)).toBe(false);
  await db().clientVersionState.updateMany({ data: { triedAt: new Date(Date.now() - 600_000) } });
  expect(await claimRead(db(), 3_600_000)).toBe(true);
});

test('a trial that its engine repeats does not hold the others up', async () => {
  await refuse(second, BUNDLED.version);
  await serve();
  await ask(first);
  const begun = new Date(Date.now() - 15_000);
  await db().clientVersionState.updateMany({ data: { trialAt: begun } });
  await ask(first);
  expect((await readState()).trialAt).toEqual(begun);
});

test('an engine cannot end the trial of others with a bundled version that it invented', async () => {
  await serve();
  await ask(first);
  expect(await ask(second, { bundled: '2.3000.1299999999' })).toMatchObject({ version: '2.3000.1299999999' });
  expect(await readState()).toMatchObject({ trialVersion: SERVED, trialInstance: first.instanceId });
});

test('without an instance of the kind web, nothing is read', async () => {
  const { database } = internalApi.world;
  const where = { kind: 'web' };
  await database.instance.updateMany({ where, data: { kind: 'sandbox' } });
  expect(await claimRead(db(), 1_000)).toBe(false);
  await database.instance.updateMany({ where: { id: first.instanceId }, data: { kind: 'web' } });
  expect(await claimRead(db(), 1_000)).toBe(true);
});

test('forgets served versions that no engine has announced', async () => {
  for (const version of [SERVED, PIN]) await serve(version);
  expect(await db().clientVersion.findMany({ select: { version: true } })).toEqual([{ version: PIN }]);
});

test('a failed read keeps the last good version', async () => {
  await serve();
  await storeFault(db(), 'no_revision');
  expect(await readState()).toMatchObject({ servedVersion: SERVED, fault: 'no_revision' });
  await serve(PIN);
  expect(await readState()).toMatchObject({ servedVersion: PIN, fault: null });
});

test('forgets served versions after 30 days, but not the pinned one', async () => {
  for (const version of [SERVED, PIN]) {
    await serve(version);
    await ask(first, { event: 'connected', version });
  }
  await db().clientVersion.updateMany({ data: { servedAt: new Date(Date.now() - 31 * 86_400_000) } });
  await db().$transaction((tx) => pinClientVersion(tx, 'cli:test', PIN));
  await serve('2.3000.1045000001');
  const known = await db().clientVersion.findMany({ orderBy: { version: 'asc' } });
  expect(known.map(({ version }) => version)).toEqual([PIN, '2.3000.1045000001']);
});

test('after an unpin, engines follow the served version again, although the pinned one logged in', async () => {
  await serve();
  await ask(first, { event: 'connected', version: SERVED });
  await db().$transaction((tx) => pinClientVersion(tx, 'cli:test', PIN));
  expect(await ask(first)).toMatchObject({ version: PIN });
  await ask(first, { event: 'connected', version: PIN });
  await db().$transaction((tx) => pinClientVersion(tx, 'cli:test', null));
  expect(await ask(first)).toMatchObject({ version: SERVED });
  await serve(PIN);
  expect(await ask(first)).toMatchObject({ version: PIN });
});

test('a waiting engine gets a pinned version, and repeats nothing that the network has refused', async () => {
  const { target } = await refuse(first, BUNDLED.version);
  const waiting: Partial<Asked> = { event: 'waiting', refused: [BUNDLED.version], target };
  // Waiting engines get facts that are at most a second old.
  await until(async () => (await ask(first, waiting)).version === null, { what: 'nothing is offered' });
  await db().$transaction((tx) => pinClientVersion(tx, 'cli:test', PIN));
  await until(async () => (await ask(first, waiting)).version === PIN, { what: 'the pin is offered' });
  const answer = await ask(first, waiting);
  const refused: Partial<Asked> = { event: 'refused', version: PIN, refused: [BUNDLED.version, PIN] };
  expect(await ask(first, { ...refused, target: answer.target })).toMatchObject({ version: null });
  await db().$transaction((tx) => pinClientVersion(tx, 'cli:test', null));
  expect(await ask(second)).toMatchObject({ version: BUNDLED.version });
});

test('an engine cannot make others announce a version that it invented', async () => {
  await ask(second, { event: 'connected', version: BUNDLED.version });
  await ask(first, { event: 'connected', version: PIN, bundled: PIN });
  expect(await db().clientVersion.findMany({ select: { version: true } })).toEqual([
    { version: BUNDLED.version },
  ]);
  expect(await ask(second)).toMatchObject({ version: BUNDLED.version });
});

test.each([
  ['2.3000.1', 'must be a version such as 2.3000.1044142122'],
  ['latest', 'must be a version such as 2.3000.1044142122'],
  ['2.3000.1999999999', 'must be a version such as 2.3000.1044142122'],
  ['2.3000.1299999999', 'is newer than any version that the network can have by now'],
  ['2.3000.1000000000', 'is so old that the network cannot accept it'],
])('a pin of %s is refused', async (version, message) => {
  const pinned = db().$transaction((tx) => pinClientVersion(tx, 'cli:test', version));
  await expect(pinned).rejects.toMatchObject({
    code: 'validation-error',
    extras: { errors: [{ path: 'version', message }] },
  });
  expect(await readState()).toMatchObject({ pinnedVersion: null });
});

test('repeated results write nothing within a minute', async () => {
  await ask(first, { event: 'connected', version: BUNDLED.version });
  const [before] = await db().clientVersion.findMany();
  await ask(second, { event: 'connected', version: BUNDLED.version });
  expect(await db().clientVersion.findMany()).toEqual([before]);
  await refuse(first, BUNDLED.version);
  const [refused] = await db().clientVersion.findMany();
  expect(refused!.refusedAt!.getTime()).toBeGreaterThan(before!.acceptedAt!.getTime());
  await ask(second, { event: 'connected', version: BUNDLED.version });
  const [accepted] = await db().clientVersion.findMany();
  expect(accepted!.acceptedAt!.getTime()).toBeGreaterThanOrEqual(refused!.refusedAt!.getTime());
});

import type { LoginAttempt } from '@gwk/network/faults/logins';
import type { WebClientAnswer } from '@gwk/network/web-client';
import { BUNDLED, parseRevision } from '@gwk/core/client-version';
import { BenchStage, type OnNetwork } from '../bench/shared/stage.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

/**
 * The network raises its minimum client version while instances are connected, and cuts all connections.
 * `NUMBERS=50` repeats the whole fleet of the promise; 10 by default.
 */
const NUMBERS = Number(process.env['NUMBERS'] ?? 10);
const BACK_MS = realTime(60_000);
const MOST_LOGINS = 3;
/** Engines ask for another version with each renewal: every 10 s by default. */
const RENEW_MS = 2_000;

/** Revisions that the network serves in turn. */
let revision = 1_045_000_000;
const nextRevision = (): number => (revision += 100_000);
const versionOf = (served: number): string => BUNDLED.version.replace(/\d+$/, String(served));

let stage: BenchStage;
let given: OnNetwork;
let pids: number[];
beforeAll(async () => {
  stage = new BenchStage();
  const network = await stage.network();
  given = await stage.instances(network, {
    api: { GWK_API_LEASE_RENEW_MS: String(RENEW_MS) },
    worker: {
      GWK_WORKER_CLIENT_VERSION: 'auto',
      GWK_WORKER_CLIENT_VERSION_URL: network.whereabouts.web_client,
    },
  });
  await given.instances.grow(NUMBERS);
  pids = given.instances.enginePids().toSorted();
});
afterAll(() => stage?.close());

const readState = () => given.db.clientVersionState.findFirstOrThrow();

/** Lets a worker read the served version now, and waits for the result. */
async function read(
  answer: WebClientAnswer,
  isRead: (state: Awaited<ReturnType<typeof readState>>) => boolean,
) {
  await given.network.client.serveWebClient(answer);
  await given.db.clientVersionState.updateMany({
    data: { dueAt: new Date(0), triedAt: new Date(0), fault: 'not read' },
  });
  await until(async () => isRead(await readState()), { what: `${answer.kind} is read` });
}

/** Raises the minimum and cuts all connections. */
async function raiseMinimum(oldest: number): Promise<number> {
  const { client } = given.network;
  const [major, minor] = BUNDLED.version.split('.').map(Number);
  await client.oldestVersion({ version: [major!, minor!, oldest] });
  const { seq = 0 } = (await client.logins()).at(-1) ?? {};
  expect((await client.status()).loggedIn).toBe(NUMBERS);
  await client.cut('*');
  return seq;
}

const connected = async (): Promise<number> => (await given.network.client.status()).loggedIn;

async function untilAllConnected(): Promise<number> {
  const began = performance.now();
  await until(async () => (await connected()) === NUMBERS, {
    what: 'all are connected again',
    timeoutMs: BACK_MS,
    everyMs: 100,
  });
  return (performance.now() - began) / 1000;
}

async function loginsByNumber(after: number): Promise<Map<string, LoginAttempt[]>> {
  const attempts = await given.network.client.logins({ after, kind: 'login' });
  return Map.groupBy(attempts, ({ number }) => number!);
}

async function expectFewLogins(name: string, after: number, seconds: number): Promise<void> {
  const logins = await loginsByNumber(after);
  const most = Math.max(...[...logins.values()].map(({ length }) => length));
  report(name, { engines: NUMBERS, 'seconds until all were connected': seconds, 'most logins of one': most });
  expect(most).toBeLessThanOrEqual(MOST_LOGINS);
  expect(given.instances.enginePids().toSorted()).toEqual(pids);
}

test('all connect again with a served version that is known', async () => {
  const served = nextRevision();
  await read({ kind: 'script', revision: served }, ({ fault }) => fault === null);
  const after = await raiseMinimum(served);
  await expectFewLogins('minimum raised, version known', after, await untilAllConnected());
});

test('all connect again with a version that is read after the first refusal', async () => {
  const served = nextRevision();
  await given.network.client.serveWebClient({ kind: 'script', revision: served });
  // The last read was long ago.
  await given.db.clientVersionState.updateMany({ data: { triedAt: new Date(0) } });
  const after = await raiseMinimum(served);
  await expectFewLogins('minimum raised, version not known', after, await untilAllConnected());
  expect(await readState()).toMatchObject({ servedVersion: versionOf(served) });
});

const BAD: [WebClientAnswer, string][] = [
  [{ kind: 'down' }, 'unreachable'],
  [{ kind: 'html' }, 'not_a_script'],
  [{ kind: 'redirect', to: 'other-host', revision: 1_044_999_999 }, 'redirected_elsewhere'],
  [{ kind: 'slow', revision: 1_044_999_999 }, 'timed_out'],
  [{ kind: 'script', revision: parseRevision(BUNDLED.version) - 1 }, 'older_than_bundled'],
];

test.each(BAD)('an answer of the kind %j changes nothing', async (answer, wanted) => {
  const { servedVersion } = await readState();
  await read(answer, ({ fault }) => fault === wanted);
  expect(await readState()).toMatchObject({ servedVersion, fault: wanted });
  expect(await connected()).toBe(NUMBERS);
});

test('without a newer version no engine flaps, and a pin by command brings all back', async () => {
  const served = nextRevision();
  const after = await raiseMinimum(served);
  const isRefused = async () =>
    (await given.db.instance.count({ where: { stateReason: { startsWith: 'version_rejected_' } } })) ===
    NUMBERS;
  await until(isRefused, { what: 'all are refused', everyMs: 200 });
  const refused = await loginsByNumber(after);
  // Longer than two renewals of the lease, and shorter than the first delay.
  await pause(2.5 * RENEW_MS);
  expect(await loginsByNumber(after)).toEqual(refused);
  for (const attempts of refused.values()) {
    const versions = attempts.map(({ version }) => version);
    expect(new Set(versions).size).toBe(versions.length);
  }
  await given.instances.gateway.gwk('network-version', 'pin', versionOf(served));
  await expectFewLogins('pinned by command', after, await untilAllConnected());
  await given.instances.gateway.gwk('network-version', 'unpin');
});

import { CrowdProcess, type CrowdState } from '../../support/gateway/crowd-process.js';
import { pause, realTime } from '../../support/wait.js';
import { listKinds, type Kind } from './kinds.js';
import { Monitor, type Service } from './monitor.js';
import { openCrowdStage, type CrowdStage } from './stage.js';
import { printCrowds } from './table.js';

/** Connections of each kind. `make crowd` opens 10,000. */
const COUNT = Number(process.env['CROWD_CONNECTIONS'] ?? 1_000);
const COUNT_TOGETHER = COUNT / 5;
const MANY = COUNT >= 10_000;
/** A new connection takes the API 1 to 2 ms, so 1,000 a second need a whole core, which a slow machine does not have. */
const OPEN_PER_SECOND = MANY ? 1_000 : 500;
/** The API closes connections without a request after 10 s. */
const HOLD_MS = MANY ? 15_000 : 4_000;
const MAX_P99_MS = realTime(500);

const MANY_ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.0.0.${index + 2}`);
const ONE_ADDRESS = ['127.0.0.20'];
const KINDS = [
  'idle',
  'kept after an answer',
  'trickling head',
  'trickling body after the answer',
  'slow download',
  'slow upload',
  'silent TLS, internal API',
];

let crowd: CrowdStage;
let clients: CrowdProcess;
let kinds: Record<string, Kind>;
const rows: [name: string, state: CrowdState, service: Service][] = [];

beforeAll(async () => {
  crowd = await openCrowdStage();
  clients = await CrowdProcess.start();
  kinds = await listKinds(crowd);
});
afterAll(async () => {
  printCrowds(rows);
  await clients?.stop();
  await crowd?.close();
});

/** Opens crowds of these kinds at once and checks the service of others meanwhile. */
async function checkService(name: string, chosen: readonly string[], addresses: string[]): Promise<void> {
  const count = chosen.length === 1 ? COUNT : COUNT_TOGETHER;
  const perSecond = OPEN_PER_SECOND / chosen.length;
  const monitor = await Monitor.start(name, crowd);
  for (const kind of chosen) {
    await clients.open({ name: kind, count, perSecond, addresses, ...kinds[kind]! });
  }
  await pause((count * 1000) / perSecond + HOLD_MS);
  const states = await clients.states();
  await clients.leave();
  const service = await monitor.end();
  for (const kind of chosen)
    rows.push([chosen.length === 1 ? name : `${name}: ${kind}`, states[kind]!, service]);
  for (const kind of chosen) expect(states[kind]!.opened).toBe(count);
  expect(service.restarts).toEqual([]);
  expect(service.failedProbes).toEqual([]);
  expect(service.failedSends).toBe(0);
  expect(service.p99).toBeLessThan(MAX_P99_MS);
}

test.each(KINDS)(`serves others beside ${COUNT} connections: %s`, (kind) =>
  checkService(kind, [kind], MANY_ADDRESSES),
);

test(`serves others beside ${COUNT} idle connections of one address`, () =>
  checkService('idle, one address', ['idle'], ONE_ADDRESS));

test(`serves others beside ${COUNT_TOGETHER} connections of each kind at once`, () =>
  checkService('together', KINDS, MANY_ADDRESSES));

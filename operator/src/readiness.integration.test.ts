import { operatorSettings } from '@gwk/core/config/operator';
import { loadConfig } from '@gwk/core/config/load';
import { KubeConfig, V1MicroTime } from '@kubernetes/client-node';
import { writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { checkApi } from './controller/create-controller.js';
import type { RunningOperator } from './options.js';
import { startOnKubernetes } from './program-kubernetes.js';
import { FakeInternalApi, randomFrom } from '@gwk/test/support/operator/fake-internal-api';
import { recordingLog, temporaryFolder } from '@gwk/test/support/operator/folder';
import { until } from '@gwk/test/support/wait';

/** Tests /readyz of an operator against a fake Kubernetes API. */
type Listing = 'answers' | 'hangs' | 'forbids';

let folder: ReturnType<typeof temporaryFolder>;
let api: FakeInternalApi;
let apiUrl: string;
let kubernetes: Server;
let operator: RunningOperator | undefined;
let leader: string | null;
let listing: Listing;
/** Whether the operator has the rights to its Lease. */
let mayElect: boolean;
let logged: string[];

beforeEach(async () => {
  folder = temporaryFolder();
  api = new FakeInternalApi(randomFrom(1));
  apiUrl = await api.listen();
  leader = null;
  listing = 'answers';
  mayElect = true;
  logged = [];
  kubernetes = createServer(({ url = '', method }, response) => {
    if (url.includes('/leases') && !mayElect) send(response, 403, { reason: 'Forbidden' });
    else if (url.includes('/leases')) answerLease(method!, response);
    else if (url.includes('watch=true')) response.writeHead(200).flushHeaders();
    else if (listing === 'answers') send(response, 200, { metadata: { resourceVersion: '1' }, items: [] });
    else if (listing === 'forbids') send(response, 403, { reason: 'Forbidden' });
  });
  await new Promise<void>((resolve) => kubernetes.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  kubernetes.closeAllConnections();
  await operator?.stop();
  operator = undefined;
  kubernetes.close();
  await api.close();
  folder.remove();
});

const send = (response: ServerResponse, code: number, body: object): void =>
  void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));

function answerLease(method: string, response: ServerResponse): void {
  if (leader === null && method === 'GET') return send(response, 404, { reason: 'NotFound' });
  const spec = { holderIdentity: leader, leaseDurationSeconds: 15, renewTime: new V1MicroTime() };
  send(response, 200, {
    metadata: { name: 'gwk-operator', namespace: 'default', resourceVersion: '1' },
    spec,
  });
}

async function start(): Promise<void> {
  const profiles = join(folder.path, 'profiles.yaml');
  writeFileSync(profiles, 'default: { image: "engine:1" }\n');
  const config = loadConfig(operatorSettings, {
    GWK_OPERATOR_TOKEN: 'x'.repeat(32),
    GWK_OPERATOR_INTERNAL_URL: apiUrl,
    GWK_OPERATOR_HOST: '127.0.0.1',
    GWK_OPERATOR_PORT: '0',
    GWK_OPERATOR_CLUSTER: 'kubernetes',
    GWK_OPERATOR_PROFILES: profiles,
    GWK_OPERATOR_NAMESPACES: 'default',
  });
  const server = `http://127.0.0.1:${(kubernetes.address() as AddressInfo).port}`;
  const kube = new KubeConfig();
  kube.loadFromClusterAndUser({ name: 'test', server, skipTLSVerify: true }, { name: 'test', token: 'x' });
  // Long enough that a slow machine never loses the lease.
  const leaderTimes = { leaseMs: 600_000, deadlineMs: 400_000, retryMs: 200 };
  const options = { kube, leaderTimes, lost: () => undefined };
  operator = await startOnKubernetes(config, options, recordingLog(logged));
}

async function readyz() {
  const response = await fetch(`http://127.0.0.1:${operator!.port}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, { ok: boolean }> };
  const failed = Object.keys(checks).filter((name) => !checks[name]!.ok);
  return { status: response.status, checks: Object.keys(checks), failed };
}
const says = (status: number, ...failed: string[]) =>
  until(
    async () => {
      const seen = await readyz();
      const isDecided = seen.checks.includes('started') || seen.checks.includes('lease');
      return seen.status === status && seen.failed.join() === failed.join() && isDecided;
    },
    { what: `readiness is ${status} for ${failed.join()}` },
  );

test('is ready by all checks once the leader has listed everything', async () => {
  await start();
  await says(200);
  expect((await readyz()).checks).toEqual(['started', 'kubernetes', 'api']);
});

test('is ready without checks while it waits for leadership', async () => {
  leader = 'another';
  listing = 'forbids';
  await start();
  expect(await readyz()).toEqual({ status: 200, checks: [], failed: [] });
});

test('is not ready without access to its Lease, warns once, and recovers', async () => {
  mayElect = false;
  await start();
  await says(503, 'lease');
  expect(logged.filter((line) => line.includes('"level":"warn"'))).toEqual([
    expect.stringContaining('no access to the leader lease'),
  ]);
  mayElect = true;
  await says(200);
});

test('is not ready while the leader lists everything', async () => {
  listing = 'hangs';
  await start();
  await says(503, 'started', 'kubernetes');
});

test('is not ready if it may read no namespace', async () => {
  listing = 'forbids';
  await start();
  await says(503, 'kubernetes');
});

test.each([
  [15_000, null],
  [15_001, 'the internal API does not answer'],
])('reports the API as unavailable after more than 15 s: %s ms', (unresponsiveMs, fault) => {
  expect(checkApi({ unresponsiveMs })).toEqual({ api: fault });
});

import { operatorSettings } from '@gwk/core/config/operator';
import { loadConfig } from '@gwk/core/config/load';
import { createLogger } from '@gwk/core/log';
import { KubeConfig } from '@kubernetes/client-node';
import { writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { microTime } from './cluster/kubernetes/leader-election.js';
import { checkApi, type RunningOperator } from './program.js';
import { startOnKubernetes } from './program-kubernetes.js';
import { FakeInternalApi, randomFrom } from '@gwk/test/support/operator/faulty-port';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { until } from '@gwk/test/support/wait';

/** What /readyz of an operator says on a Kubernetes that is played by a few lines. */
type Listing = 'answers' | 'hangs' | 'refuses';

let folder: ReturnType<typeof temporaryFolder>;
let port: FakeInternalApi;
let portUrl: string;
let kubernetes: Server;
let operator: RunningOperator | undefined;
let leader: string | null;
let listing: Listing;

beforeEach(async () => {
  folder = temporaryFolder();
  port = new FakeInternalApi(randomFrom(1));
  portUrl = await port.listen();
  leader = null;
  listing = 'answers';
  kubernetes = createServer(({ url = '', method }, response) => {
    if (url.includes('/leases')) answerLease(method!, response);
    else if (url.includes('watch=true')) response.writeHead(200).flushHeaders();
    else if (listing === 'answers') send(response, 200, { metadata: { resourceVersion: '1' }, items: [] });
    else if (listing === 'refuses') send(response, 403, { reason: 'Forbidden' });
  });
  await new Promise<void>((resolve) => kubernetes.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  kubernetes.closeAllConnections();
  await operator?.stop();
  operator = undefined;
  kubernetes.close();
  await port.close();
  folder.remove();
});

const send = (response: ServerResponse, code: number, body: object): void =>
  void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));

function answerLease(method: string, response: ServerResponse): void {
  if (leader === null && method === 'GET') return send(response, 404, { reason: 'NotFound' });
  const spec = { holderIdentity: leader, leaseDurationSeconds: 15, renewTime: microTime(Date.now()) };
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
    GWK_OPERATOR_INTERNAL_URL: portUrl,
    GWK_OPERATOR_HOST: '127.0.0.1',
    GWK_OPERATOR_PORT: '0',
    GWK_OPERATOR_CLUSTER: 'kubernetes',
    GWK_OPERATOR_PROFILES: profiles,
    GWK_OPERATOR_NAMESPACES: 'default',
  });
  const server = `http://127.0.0.1:${(kubernetes.address() as AddressInfo).port}`;
  const kube = new KubeConfig();
  kube.loadFromClusterAndUser({ name: 'test', server, skipTLSVerify: true }, { name: 'test', token: 'x' });
  // No stall of this machine ends its lead.
  const leaderTimes = { leaseMs: 600_000, deadlineMs: 400_000, retryMs: 200 };
  const options = { kube, leaderTimes, lost: () => undefined };
  operator = await startOnKubernetes(config, options, createLogger('operator', 'silent'));
}

async function readyz() {
  const response = await fetch(`http://127.0.0.1:${operator!.port}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, { ok: boolean }> };
  const red = Object.keys(checks).filter((name) => !checks[name]!.ok);
  return { status: response.status, checks: Object.keys(checks), red };
}
const says = (status: number, ...red: string[]) =>
  until(
    async () => {
      const seen = await readyz();
      return seen.status === status && seen.red.join() === red.join() && seen.checks.includes('started');
    },
    { what: `readiness is ${status} for ${red.join()}` },
  );

test('one that leads and has listed everything is green, by all its checks', async () => {
  await start();
  await says(200);
  expect((await readyz()).checks).toEqual(['started', 'kubernetes', 'api']);
});

test('one that waits to lead checks nothing and is green', async () => {
  leader = 'another';
  listing = 'refuses';
  await start();
  expect(await readyz()).toEqual({ status: 200, checks: [], red: [] });
});

test('one that leads is red while it lists everything, and where it may read nothing', async () => {
  listing = 'hangs';
  await start();
  await says(503, 'started', 'kubernetes');
});

test('one that may read no namespace is red for that alone', async () => {
  listing = 'refuses';
  await start();
  await says(503, 'kubernetes');
});

test.each([
  [15_000, null],
  [15_001, 'the internal port does not answer'],
])('the API is told red once it has been silent for over 15 seconds: %s ms', (leaseTimeoutMs, fault) => {
  expect(checkApi({ leaseTimeoutMs })).toEqual({ api: fault });
});

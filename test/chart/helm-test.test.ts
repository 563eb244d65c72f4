import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  CHART,
  find,
  helm,
  listPodTemplates,
  MINIMAL_VALUES,
  readEnvironment,
  render,
  templateText,
  withValues,
} from '../support/chart/render.js';
import { ROOT } from '../support/program.js';
import { describeChart } from './suite.js';

const execute = promisify(execFile);
const READY = { '/readyz': 200, '/openapi.json': 200, '/v1/instances': 401 };
const TOKEN = 'token-of-the-operator';
const LEADER = 'gwk-operator-1';

interface Lease {
  holderIdentity?: string;
  renewTime?: string;
}

/** A leader that renews with each read. */
const renewed = (reads: number): Lease => ({ holderIdentity: LEADER, renewTime: String(reads) });

interface Run {
  statuses?: (path: string, requests: number) => number;
  /** The Lease, or the status of the answer. */
  lease?: (reads: number) => Lease | number;
  /** `late`: once the script has met a refused connection. */
  listens?: 'at once' | 'late' | 'never';
  seconds?: string;
}

function readScript(): { script: string; lease: string; limit: string } {
  const objects = render(MINIMAL_VALUES);
  const { name } = find(objects, 'Pod', 'helm-test-gwk').metadata;
  const { args } = listPodTemplates(objects).get(`Pod/${name}`)!.spec.containers[0]!;
  const [script, , , lease, , limit] = args as [string, string, string, string, string, string];
  return { script, lease, limit };
}

/** Runs the script of `helm test` against a local address, which is the API and Kubernetes. */
async function runScript({
  statuses = answer,
  lease = renewed,
  listens = 'at once',
  seconds,
}: Run): Promise<string> {
  const given = readScript();
  let requests = 0;
  let reads = 0;
  const server = createServer((request, response) => {
    if (request.url !== given.lease) {
      response.statusCode = statuses(request.url!, ++requests);
      return void response.end('why');
    }
    const own = request.headers.authorization === `Bearer ${TOKEN}`;
    const found = own ? lease(++reads) : 401;
    if (typeof found === 'number') response.statusCode = found;
    response.end(typeof found === 'number' ? 'why' : JSON.stringify({ spec: found }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  if (listens !== 'at once') {
    server.close();
    await once(server, 'close');
  }
  const folder = mkdtempSync(join(tmpdir(), 'gwk-helm-test-'));
  try {
    const token = join(folder, 'token');
    writeFileSync(token, `${TOKEN}\n`);
    const address = `http://127.0.0.1:${port}`;
    const options = ['--input-type=module', '-e', given.script];
    const args = [address, address, given.lease, token, seconds ?? given.limit];
    const running = execute(process.execPath, [...options, ...args]);
    if (listens === 'late') running.child.stdout!.once('data', () => server.listen(port, '127.0.0.1'));
    return (await running).stdout;
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}

const answer = (path: string): number => READY[path as keyof typeof READY] ?? 404;

describeChart('helm test', () => {
  test('the API answers as an installation should, and an operator leads', async () => {
    expect(await runScript({})).toBe(`/readyz 200\n/openapi.json 200\n/v1/instances 401\nleader ${LEADER}\n`);
  });

  test('an address that is not routed yet is asked again', async () => {
    const said = await runScript({ listens: 'late' });
    expect(said).toMatch(/^\/readyz 503 .*ECONNREFUSED/);
    expect(said).toMatch(/\/v1\/instances 401\nleader/);
  });

  test('503 of a mesh is asked again', async () => {
    const said = await runScript({
      statuses: (path, requests) => (requests === 1 ? 503 : answer(path)),
    });
    expect(said).toMatch(/^\/readyz 503 why\n\/readyz 200\n\/openapi.json 200\n/);
  });

  test('an operator that begins to lead is waited for', async () => {
    const lease = (reads: number) => (reads < 3 ? 404 : renewed(reads));
    expect(await runScript({ lease })).toContain(`leader ${LEADER}`);
  });

  test.each<[string, Run, string]>([
    [
      'an API that stays unready',
      { statuses: (path) => (path === '/readyz' ? 503 : answer(path)) },
      '/readyz answered 503, not 200: why',
    ],
    [
      'an API without keys',
      { statuses: (path) => (path === '/v1/instances' ? 200 : answer(path)) },
      '/v1/instances answered 200, not 401: why',
    ],
    ['a missing Lease', { lease: () => 404 }, 'no operator leads: nobody holds the Lease'],
    [
      'a Lease that its holder gave back',
      { lease: (reads) => ({ holderIdentity: '', renewTime: String(reads) }) },
      'no operator leads: nobody holds the Lease',
    ],
    [
      'a leader that no longer renews',
      { lease: () => renewed(1) },
      `no operator leads: ${LEADER} does not renew the Lease`,
    ],
    [
      'an operator without the right to read its Lease',
      { lease: () => 403 },
      'no operator leads: its account gets 403 for the Lease: why',
    ],
  ])('%s fails', async (_, run, said) => {
    await expect(runScript({ ...run, seconds: '1' })).rejects.toThrow(said);
  });

  test('an address where nothing listens fails', async () => {
    await expect(runScript({ listens: 'never', seconds: '1' })).rejects.toThrow('ECONNREFUSED');
  });

  test('the Lease is that of the operator, and its account has the right to read it', () => {
    const objects = render(MINIMAL_VALUES);
    const { spec } = listPodTemplates(objects).get('Deployment/gwk-operator')!;
    const { GWK_OPERATOR_LEASE: name } = readEnvironment(spec.containers[0]!);
    expect(readScript().lease).toBe(`/apis/coordination.k8s.io/v1/namespaces/messages/leases/${name}`);
    const pod = listPodTemplates(objects).get('Pod/helm-test-gwk')!;
    expect(pod.spec.serviceAccountName).toBe(spec.serviceAccountName);
    expect(pod.spec.automountServiceAccountToken).toBe(true);
  });

  test('manifests rendered as docs/install.md says contain no test', () => {
    expect(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')).toContain('`helm template --skip-tests`');
    const documented = withValues(MINIMAL_VALUES, (file) =>
      helm('template', 'gwk', CHART, '--skip-tests', `--values=${file}`),
    );
    expect(documented.status).toBe(0);
    expect(documented.output).not.toContain('helm.sh/hook: test');
    expect(templateText(MINIMAL_VALUES)).toContain('helm.sh/hook: test');
  });
});

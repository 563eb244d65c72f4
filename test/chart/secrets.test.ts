import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import { find, render } from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { baseEnvironment, GWK } from '../support/program.js';
import { grantedTo } from '../support/chart/rights.js';

interface Finished {
  status: number | null;
  output: string;
}

/** Runs the command of the Job here, with its arguments, namespace and service account rights. */
describeOnKubernetes(
  'the secrets Job',
  (cluster) => {
    let namespace: string;
    let kubeconfig: string;
    let done: () => void;

    beforeEach(async () => {
      namespace = await cluster().namespace('secrets');
      const objects = render({ demo: { enabled: true } }, { namespace });
      ({ kubeconfig, done } = await grantedTo(cluster(), objects, { namespace, account: 'gwk-secrets' }));
    });
    afterEach(() => done());

    async function run(args = jobArguments({ demo: { enabled: true } }, namespace)): Promise<Finished> {
      const child = spawn(process.execPath, [GWK, ...args], {
        env: { ...baseEnvironment(), KUBECONFIG: kubeconfig },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const chunks: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
      const [status] = (await once(child, 'close')) as [number | null];
      return { status, output: Buffer.concat(chunks).toString() };
    }

    async function secret(name: string): Promise<Record<string, string>> {
      const { status, body } = await cluster().get<{ data?: Record<string, string> }>(
        `/api/v1/namespaces/${namespace}/secrets/${name}`,
      );
      if (status !== 200) throw new Error(`${name}: ${status}`);
      return Object.fromEntries(
        Object.entries(body.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      );
    }

    test('creates every Secret that the pods mount', async () => {
      expect(await run()).toMatchObject({ status: 0 });
      const gateway = await secret('gwk');
      expect(Buffer.from(gateway['encryption-keys']!, 'base64')).toHaveLength(32);
      expect(gateway['operator-token']).toMatch(/^[0-9a-f]{64}$/);
      const tls = await secret('gwk-internal-tls');
      expect(new X509Certificate(tls['tls.crt']!).checkHost(`gwk-internal.${namespace}.svc`)).toBeDefined();
      expect(new X509Certificate(tls['tls.crt']!).checkIssued(new X509Certificate(tls['ca.crt']!))).toBe(
        true,
      );
      const demo = await secret('gwk-demo');
      expect(demo['postgres-url']).toBe(
        `postgresql://gwk:${demo['postgres-password']}@gwk-demo-postgres:5432/gwk`,
      );
      expect(demo['redis-url']).toBe(`redis://default:${demo['redis-password']}@gwk-demo-redis:6379`);
    });

    test('changes nothing when run again or twice at the same time', async () => {
      const both = await Promise.all([run(), run()]);
      expect(both.map(({ status }) => status)).toEqual([0, 0]);
      const before = [await secret('gwk'), await secret('gwk-internal-tls'), await secret('gwk-demo')];
      expect((await run()).output).toContain('{"secret":"gwk","made":false}');
      expect([await secret('gwk'), await secret('gwk-internal-tls'), await secret('gwk-demo')]).toEqual(
        before,
      );
    });

    test('names an existing Secret that lacks a key and leaves it unchanged', async () => {
      await cluster().post(`/api/v1/namespaces/${namespace}/secrets`, {
        metadata: { name: 'gwk' },
        stringData: { 'encryption-keys': 'mine' },
      });
      expect(await run()).toEqual({
        status: 1,
        output: expect.stringContaining('the Secret gwk has no operator-token') as string,
      });
      expect(await secret('gwk')).toEqual({ 'encryption-keys': 'mine' });
    });

    test.each([
      ['GET', 'secrets'],
      ['GET', 'secrets/other'],
      ['DELETE', 'secrets/gwk'],
      ['PATCH', 'secrets/gwk'],
      ['GET', 'pods'],
    ])('its service account may not %s %s', async (method, what) => {
      const { token } = await grantedTo(cluster(), [], { namespace, account: 'gwk-secrets' });
      const { status } = await cluster().call(method, `/api/v1/namespaces/${namespace}/${what}`, {
        token,
        ...(method === 'PATCH' && { body: {}, type: 'application/merge-patch+json' }),
      });
      expect(status).toBe(403);
    });
  },
  { chart: true },
);

function jobArguments(values: object, namespace: string): string[] {
  const objects = render(values, { namespace });
  const job = objects.find(
    ({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith('gwk-secrets-'),
  );
  return (job!['spec'] as { template: { spec: { containers: { args: string[] }[] } } }).template.spec
    .containers[0]!.args;
}

describeChart('the Secrets of the chart', () => {
  test('existing Secrets need no Job and no rights', () => {
    const objects = render({
      postgres: { existingSecret: 'databases' },
      redis: { existingSecret: 'databases' },
      secrets: { existingSecret: 'own' },
      internal: { tls: { existingSecret: 'own-tls' } },
    });
    expect(objects.filter(({ metadata }) => metadata.name.startsWith('gwk-secrets'))).toEqual([]);
  });

  test('no template contains a secret except URLs from the values', () => {
    const secrets = (values: object) => render(values).filter(({ kind }) => kind === 'Secret');
    expect(secrets({ demo: { enabled: true } })).toEqual([]);
    const given = { postgres: { url: 'postgresql://a:b@c/d' }, redis: { existingSecret: 'r' } };
    expect(find(secrets(given), 'Secret', 'gwk-connections')['stringData']).toEqual({
      'postgres-url': 'postgresql://a:b@c/d',
    });
  });
});

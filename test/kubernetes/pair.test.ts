import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { RunningOperator } from '@gwk/operator/options';
import { pairingSecretName } from '@gwk/core/resources/pairing-request';
import { OperatorStage } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { writeKubeconfig } from '../support/kubernetes/control-plane.js';

/** Tests `gwk pair` with the credentials of kubectl on a real API server. The fake internal API plays the network. */
describeOnKubernetes('gwk pair', (cluster) => {
  let stage: OperatorStage;
  let operator: RunningOperator;
  beforeEach(async () => {
    stage = await OperatorStage.make(cluster());
    stage.internalApi.firstState = 'pending_pair';
    await stage.node();
    operator = await stage.operator();
    await stage.create('shop', { kind: 'web' });
    await stage.untilIs('shop', 'Paired', 'False/NeverPaired');
  });
  afterEach(() => stage.stop());

  function pair(args: string[] = [], kubeconfig = cluster().plane.kubeconfig) {
    const child = spawn(
      process.execPath,
      [join(ROOT, 'bin/gwk.js'), 'pair', 'shop', '-n', stage.namespace, ...args],
      { env: { PATH: process.env['PATH'], KUBECONFIG: kubeconfig } },
    );
    const output = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output.err += chunk.toString()));
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    const says = (text: string) => until(() => output.out.includes(text), { what: `it says ${text}` });
    return { child, output, code, says };
  }

  const factsOf = async () => {
    const { metadata } = (await stage.instance('shop'))!;
    return stage.internalApi.factsOf(metadata.uid!)!;
  };
  async function phonePairs(): Promise<void> {
    const facts = await factsOf();
    Object.assign(facts, {
      state: 'connected',
      pairing: false,
      first_paired_at: new Date().toISOString(),
    });
  }
  const secret = () =>
    cluster().get(`/api/v1/namespaces/${stage.namespace}/secrets/${pairingSecretName('shop')}`);
  const readRequest = async () =>
    ((await stage.instance('shop'))!.metadata['annotations'] as Record<string, string> | undefined)?.[
      'gwk.dev/pairing'
    ];

  test('is named in the condition', async () => {
    const { message } = await stage.untilIs('shop', 'Paired', 'False/NeverPaired');
    expect(message).toContain(`gwk pair shop -n ${stage.namespace}`);
  });

  test('shows each QR code, ends when a phone has paired, and leaves nothing behind', async () => {
    stage.internalApi.pairingCode = '2@first';
    const { output, code, says } = pair();
    await says('scan this');
    const first = output.out;
    expect(first).toMatch(/[\u2580\u2584\u2588]{3}/);
    stage.internalApi.pairingCode = '2@second, and another QR';
    await until(() => output.out.slice(first.length).includes('scan this'), { what: 'the next is shown' });
    await phonePairs();
    expect(await code).toBe(0);
    expect(output.out).toContain('shop is paired');
    expect(output.err).toBe('');
    await until(async () => (await secret()).status === 404, { what: 'the secret is gone' });
    expect(await readRequest()).toBeUndefined();
    expect(JSON.stringify(await stage.instance('shop'))).not.toContain('2@');
    expect(stage.logs.join('')).not.toContain('2@');
  });

  test('shows a code to type with --method code', async () => {
    stage.internalApi.pairingCode = 'ABCD1234';
    const { code, says } = pair(['--method', 'code', '--phone', '+55 11 99999-0000']);
    await says('ABCD-1234');
    await phonePairs();
    expect(await code).toBe(0);
  });

  test('reports an Instance that is already paired', async () => {
    await phonePairs();
    await stage.untilIs('shop', 'Paired', 'True');
    const { output, code } = pair();
    expect(await code).toBe(0);
    expect(output.out).toContain('is already paired');
  });

  test('withdraws its request when interrupted', async () => {
    stage.internalApi.pairingCode = '2@first';
    const { child, code, says } = pair();
    await says('scan this');
    child.kill('SIGINT');
    expect(await code).toBe(1);
    expect(await readRequest()).toBeUndefined();
    await until(async () => (await secret()).status === 404, { what: 'the secret is gone' });
  });

  test('is removed by the operator if the command is killed', async () => {
    stage.internalApi.pairingCode = 'ABCD1234';
    const { child, code, says } = pair(['--method', 'code', '--phone', '5511999990000']);
    await says('ABCD-1234');
    child.kill('SIGKILL');
    await code;
    expect(await readRequest()).toContain('5511999990000');
    await phonePairs();
    await until(async () => (await readRequest()) === undefined, { what: 'the request is removed' });
  });

  test('continues with another operator', async () => {
    await stage.operator();
    stage.internalApi.pairingCode = '2@first';
    const { output, code, says } = pair();
    await says('scan this');
    await stage.end(operator);
    stage.internalApi.pairingCode = '2@second';
    const shown = output.out.length;
    await until(() => output.out.slice(shown).includes('scan this'), { what: 'the next is shown' });
    await phonePairs();
    expect(await code).toBe(0);
  });

  test('reports an unknown name', async () => {
    await stage.delete('shop');
    await stage.untilGone('shop');
    const { output, code } = pair();
    expect(await code).toBe(1);
    expect(output.err).toContain('No such Instance');
  });

  test('needs only the rights to change the Instance and to get one Secret', async () => {
    const { plane } = cluster();
    const token = await tokenWith([
      { apiGroups: ['gwk.dev'], resources: ['instances'], verbs: ['get', 'patch'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['gwk-shop-pairing'], verbs: ['get'] },
    ]);
    const file = join(plane.folder, `kubeconfig-${stage.namespace}`);
    writeKubeconfig(file, { url: plane.url, ca: plane.ca, token });
    stage.internalApi.pairingCode = '2@first';
    const { code, says } = pair([], file);
    await says('scan this');
    await phonePairs();
    expect(await code).toBe(0);
  });

  test('names the Secret that the user may not read', async () => {
    const { plane } = cluster();
    const token = await tokenWith([
      { apiGroups: ['gwk.dev'], resources: ['instances'], verbs: ['get', 'patch'] },
    ]);
    const file = join(plane.folder, `kubeconfig-${stage.namespace}`);
    writeKubeconfig(file, { url: plane.url, ca: plane.ca, token });
    const { output, code } = pair([], file);
    expect(await code).toBe(1);
    expect(output.err).toContain('Secret gwk-shop-pairing');
    expect(await readRequest()).toBeUndefined();
  });

  async function tokenWith(rules: object[]): Promise<string> {
    const { namespace } = stage;
    const metadata = { name: 'clerk', namespace };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'clerk' };
    const subjects = [{ kind: 'ServiceAccount', ...metadata }];
    const rbac = 'rbac.authorization.k8s.io/v1';
    const objects: (KubeObject & object)[] = [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: rbac, kind: 'Role', metadata, rules },
      { apiVersion: rbac, kind: 'RoleBinding', metadata, roleRef, subjects },
    ];
    for (const object of objects) await cluster().applied(object);
    const made = await cluster().post<{ status: { token: string } }>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/clerk/token`,
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
    );
    return made.body.status.token;
  }
});

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { findBinaries } from '../support/kubernetes/binaries.js';
import { buildKrew } from '../support/kubernetes/krew.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { kubectl } from './kubectl.js';
import { OperatorStage } from './operator-stage.js';
import type { RawEnginePod } from './fake-node.js';

/** Runs the built program as users do, through kubectl, against a real API server and a real operator. */
describeOnKubernetes('kubectl gwk', (cluster) => {
  let stage: OperatorStage;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gwk-plugin-'));
    writeExecutable(folder);
    stage = await OperatorStage.make(cluster());
    await deployGateway('0.1.0');
  });
  afterEach(async () => {
    await stage.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Asynchronous, because this process serves the fake API. */
  async function gwk(...args: string[]): Promise<{ out: string; err: string; code: number | null }> {
    const found = findBinaries();
    if ('missing' in found) throw new Error(found.missing);
    const child = spawn(join(found.binaries.folder, 'kubectl'), ['gwk', ...args], {
      cwd: folder,
      env: {
        PATH: [folder, found.binaries.folder, process.env['PATH']].join(delimiter),
        KUBECONFIG: cluster().plane.kubeconfig,
        HOME: folder,
      },
    });
    const output = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output.err += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { ...output, code };
  }
  const status = async (...more: string[]) =>
    (await gwk('status', 'shop', '-n', stage.namespace, ...more)).out;

  /** The Deployments of a release, without pods. */
  async function deployGateway(version: string, release = 'gwk'): Promise<void> {
    for (const component of ['api', 'operator']) {
      const selected = { 'app.kubernetes.io/component': component, 'app.kubernetes.io/instance': release };
      const labels = {
        ...selected,
        'app.kubernetes.io/part-of': 'gwk',
        'app.kubernetes.io/version': version,
      };
      const template = { metadata: { labels }, spec: { containers: [{ name: component, image: 'gwk' }] } };
      await cluster().applied({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: `${release}-${component}`, namespace: stage.namespace, labels },
        spec: { replicas: 0, selector: { matchLabels: selected }, template },
      });
    }
  }

  async function start(images: Parameters<OperatorStage['node']>[1] = {}): Promise<void> {
    await stage.node(undefined, images);
    await stage.operator({ options: { leaseTimeoutMs: 120_000 } });
    await stage.create('shop', { kind: 'web' });
  }
  async function setFacts(facts: object): Promise<void> {
    const { metadata } = (await stage.instance('shop'))!;
    Object.assign(stage.internalApi.factsOf(metadata.uid!)!, facts);
  }

  /** The first line of the screen is the cause, the second the next command. */
  function expectScreen(screen: string, cause: RegExp, next: string): void {
    const [first, second] = screen.split('\n');
    expect(first).toMatch(cause);
    expect(second).toBe(`Next        ${next}`);
  }

  test('healthy', async () => {
    await start();
    await stage.untilIs('shop', 'Ready', 'True');
    const screen = await status();
    expect(screen).toMatch(/^OK .*shop: Ready to send and receive \(Ready\)\n/);
    expect(screen).toMatch(/Engine .*gwk-shop running, .*image engine:1/);
    expect(screen).not.toContain('Warning');
    const found = JSON.parse(await status('-o', 'json')) as object;
    expect(found).toMatchObject({ name: 'shop', level: 'ok', next: null, state: 'connected' });
  });

  test('image missing', async () => {
    await start({ 'engine:1': 'missing' });
    await stage.untilIs('shop', 'Ready', 'False/ImagePullFailed');
    const next = `kubectl describe pod gwk-shop -n ${stage.namespace}`;
    expectScreen(await status(), /^TROUBLE .*ImagePullBackOff: Back-off pulling image/, next);
  });

  test('quota', async () => {
    const metadata = { name: 'all', namespace: stage.namespace };
    await cluster().applied({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata,
      spec: { hard: { pods: '0' } },
    });
    const path = `/api/v1/namespaces/${stage.namespace}/resourcequotas/all/status`;
    await cluster().merge(path, { status: { hard: { pods: '0' }, used: { pods: '0' } } });
    await start();
    await stage.untilIs('shop', 'Ready', 'False/EngineNotCreated');
    expectScreen(await status(), /^TROUBLE .*exceeded quota/, `kubectl describe quota -n ${stage.namespace}`);
  });

  test('lease lapsed', async () => {
    await start({ 'engine:1': 'hangs' });
    await stage.untilIs('shop', 'Ready', 'False/EngineStarting');
    const pod = await until(
      async () => {
        const found = await stage.pod('shop');
        return found?.status?.phase === 'Running' && found;
      },
      { what: 'its engine runs' },
    );
    await age(pod);
    const next = `kubectl get pods -n ${stage.namespace} -l app.kubernetes.io/part-of=gwk`;
    expectScreen(await status(), /^TROUBLE .*runs without its lease/, next);
  });

  /** Its container has run for a minute. */
  async function age({ metadata, spec }: RawEnginePod): Promise<void> {
    const running = { startedAt: new Date(Date.now() - 60_000).toISOString() };
    const container = {
      name: 'engine',
      image: spec.containers[0]!.image,
      imageID: '',
      ready: false,
      restartCount: 0,
    };
    await cluster().merge(`/api/v1/namespaces/${stage.namespace}/pods/${metadata.name}/status`, {
      status: { containerStatuses: [{ ...container, state: { running } }] },
    });
  }

  const NUMBERS: [string, object, wanted: string, cause: RegExp, next: (namespace: string) => string][] = [
    [
      'logged out',
      { state: 'logged_out', first_paired_at: '2026-01-01T00:00:00.000Z' },
      'Paired',
      /^TROUBLE .*The device was unlinked \(LoggedOut\)/,
      (namespace) => `kubectl gwk pair shop -n ${namespace}`,
    ],
    [
      'banned',
      { state: 'banned', state_reason: 'code 403', banned_until: null },
      'Connected',
      /^TROUBLE .*The network banned the phone number \(banned: code 403\)/,
      (namespace) => `kubectl gwk pair shop -n ${namespace}`,
    ],
    [
      'refused version',
      { state: 'disconnected', state_reason: 'version_rejected_405' },
      'Connected',
      /^TROUBLE .*The network refuses every known client version/,
      (namespace) => `kubectl exec -n ${namespace} deploy/gwk-api -- gwk network-version show`,
    ],
  ];
  test.each(NUMBERS)('%s', async (...[, facts, condition, cause, next]) => {
    await start();
    await stage.untilIs('shop', 'Ready', 'True');
    await setFacts({ ...facts, digest: 'changed' });
    await stage.untilIs('shop', condition, 'False');
    expectScreen(await status(), cause, next(stage.namespace));
  });

  test('a table has trouble first, and a difference of versions is named', async () => {
    await deployGateway('0.9.0');
    await start();
    await stage.create('alpha');
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.untilIs('alpha', 'Ready', 'True');
    await setFacts({ state: 'logged_out', first_paired_at: '2026-01-01T00:00:00.000Z', digest: 'changed' });
    await stage.untilIs('shop', 'Paired', 'False');
    const { out } = await gwk('status', '-n', stage.namespace);
    const [, first, second] = out.split('\n');
    expect(first).toMatch(/^TROUBLE .* shop .*LoggedOut/);
    expect(second).toMatch(/^OK .* alpha .*Ready/);
    expect(out).toMatch(/Warning: this program has version 0\.1\.0, and the gateway 0\.9\.0/);
  });

  test('pause, resume and restart', async () => {
    await start();
    await stage.untilIs('shop', 'Ready', 'True');
    expect((await gwk('pause', 'shop', '-n', stage.namespace)).code).toBe(0);
    await stage.untilIs('shop', 'Ready', 'False/Suspended');
    expectScreen(await status(), /^STOPPED /, `kubectl gwk resume shop -n ${stage.namespace}`);
    expect((await gwk('restart', 'shop', '-n', stage.namespace)).code).toBe(5);
    expect((await gwk('resume', 'shop', '-n', stage.namespace)).code).toBe(0);
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!.metadata.uid;
    const restarted = await gwk('restart', 'shop', '-n', stage.namespace);
    expect(restarted).toMatchObject({ code: 0, err: expect.stringMatching(/^Context: .+\n$/) });
    expect((await stage.pod('shop'))!.metadata.uid).not.toBe(before);
  });

  test('pairs, and names an unknown Instance', async () => {
    await start();
    await stage.untilIs('shop', 'Paired', 'True');
    expect((await gwk('pair', 'shop', '-n', stage.namespace)).out).toContain('already paired');
    const unknown = await gwk('status', 'nobody', '-n', stage.namespace);
    expect(unknown).toMatchObject({ code: 4, out: '' });
    expect(unknown.err).toContain('no Instance nobody');
  });

  const PLANTED = {
    secret: 'gwk_live_plantedsecret0123456789',
    number: '5511987654321',
    jid: '5511912345678@s.whatsapp.net',
    name: 'Padaria Planted',
    content: 'planted words of a message',
  };

  test('the report has no secret, number, name or content', async () => {
    const { secret, number, jid, name, content } = PLANTED;
    stage.internalApi.firstState = 'connecting';
    await start();
    await stage.untilIs('shop', 'Ready', 'True');
    await cluster().merge(`/apis/gwk.dev/v1/namespaces/${stage.namespace}/instances/shop`, {
      metadata: {
        labels: { phone: number },
        annotations: {
          'gwk.dev/note': `${jid} token=${secret}`,
          'example.org/manifest': content,
          'gwk.dev/pairing': JSON.stringify({ phone: number }),
        },
      },
      spec: { displayName: name },
    });
    await cluster().post(`/api/v1/namespaces/${stage.namespace}/events`, {
      metadata: { name: 'planted', namespace: stage.namespace },
      involvedObject: { kind: 'Instance', name: 'shop', namespace: stage.namespace },
      type: 'Warning',
      reason: 'Planted',
      message: `${name} ${jid} +55 (11) 98765-4321 postgres://gwk:${secret}@db/gwk`,
    });
    await cluster().applied({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'gwk-shop-pairing', namespace: stage.namespace },
      stringData: { pairing: secret },
    });
    await deployGateway('0.1.0', 'other');
    const made = await gwk('report', '-n', stage.namespace, '--file', 'report.zip');
    expect(made).toMatchObject({ code: 0, err: '' });
    const files = unzipSync(readFileSync(join(folder, 'report.zip')));
    const all = Object.entries(files).map(([path, bytes]) => `${path}\n${strFromU8(bytes)}`);
    const everything = all.join('\n');
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining([
        'report.json',
        `instances/${stage.namespace}/shop/instance.json`,
        `instances/${stage.namespace}/shop/status.txt`,
        `instances/${stage.namespace}/shop/pod.json`,
        `gateway/${stage.namespace}/gwk-operator/deployment.json`,
      ]),
    );
    expect(everything).toContain('Planted');
    expect(Object.keys(files).filter((path) => path.includes('other-'))).toEqual([]);
    for (const planted of [secret, 'plantedsecret', number, jid, '98765-4321', name, content])
      expect(everything).not.toContain(planted);
    // A kubelet that does not answer has no logs, and the report says so.
    expect(made.out).toMatch(/not in it: log of .*gwk-shop/);
    await gwk('report', 'shop', '-n', stage.namespace, '--file', 'full.zip', '--include', 'numbers', 'names');
    const full = Object.values(unzipSync(readFileSync(join(folder, 'full.zip')))).map((bytes) =>
      strFromU8(bytes),
    );
    expect(full.join('\n')).toContain(jid);
    expect(full.join('\n')).toContain(name);
    expect(full.join('\n')).not.toContain(secret);
  });

  test('krew installs it from its archive, and kubectl finds it', () => {
    const packed = join(folder, 'packed');
    mkdirSync(packed);
    writeExecutable(packed);
    copyFileSync(join(ROOT, 'LICENSE'), join(packed, 'LICENSE'));
    const archive = join(folder, 'kubectl-gwk.tar.gz');
    run('tar', ['-czf', archive, '-C', packed, '.']);
    const script = [join(ROOT, 'scripts/krew.js'), archive, 'https://example.org/kubectl-gwk.tar.gz'];
    const platform = `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;
    const manifest = join(folder, 'gwk.yaml');
    writeFileSync(manifest, run(process.execPath, [...script, platform]));
    const root = join(folder, 'krew');
    const env = { ...process.env, KREW_ROOT: root, KREW_NO_UPGRADE_CHECK: '1', HOME: folder };
    const said = run(buildKrew(), ['install', `--manifest=${manifest}`, `--archive=${archive}`], env);
    expect(said).toContain('Installed plugin: gwk');
    const path = [join(root, 'bin'), process.env['PATH']].join(delimiter);
    expect(kubectl(cluster(), ['gwk', '--version'], undefined, { PATH: path })).toBe('0.1.0\n');
  });
});

/** Starts the bundle by the name of the plugin. */
function writeExecutable(folder: string): void {
  const path = join(folder, 'kubectl-gwk');
  const main = join(ROOT, 'cli/dist/gwk.cjs');
  writeFileSync(path, `#!/bin/bash\nexec -a kubectl-gwk '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(path, 0o755);
}

function run(command: string, args: string[], env = process.env): string {
  const done = spawnSync(command, args, { encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.stderr}`);
  return `${done.stdout}${command.endsWith('krew') ? done.stderr : ''}`;
}

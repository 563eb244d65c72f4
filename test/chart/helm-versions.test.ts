import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { kubectl, shell } from '../kubernetes/kubectl.js';
import type { HelmMajor } from '../support/chart/helm-binary.js';
import { CHART, MINIMAL_VALUES, runHelm, withValues } from '../support/chart/render.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { readPageCommands } from '../support/readme.js';
import { until } from '../support/wait.js';

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/instances.gwk.dev';
const RELEASE = 'gwk';
const memory = (limit: string) => ({
  ...MINIMAL_VALUES,
  api: { resources: { limits: { memory: limit } } },
});

/** Both supported versions of Helm on a real API server. No controller runs, so no pod starts. */
describeOnKubernetes(
  'Helm 3 and 4',
  (cluster) => {
    let namespace: string;
    beforeEach(async () => {
      namespace = await cluster().namespace('helm');
      await cluster().delete(CRD);
      await until(async () => (await cluster().get(CRD)).status === 404, { what: 'the CRD is gone' });
    });
    afterEach(() => runHelm(4, ['uninstall', RELEASE, ...place()]));

    const place = () => [`--kubeconfig=${cluster().plane.kubeconfig}`, `--namespace=${namespace}`];
    const run = (major: HelmMajor, command: string, values: object, ...flags: string[]) =>
      withValues(values, (file) =>
        runHelm(major, [command, RELEASE, CHART, ...place(), `--values=${file}`, ...flags]),
      );
    const readLimit = async () => {
      const { body } = await cluster().get(`/apis/apps/v1/namespaces/${namespace}/deployments/gwk-api`);
      const { spec } = (body['spec'] as { template: { spec: object } }).template as {
        spec: { containers: { resources: { limits: { memory: string } } }[] };
      };
      return spec.containers[0]!.resources.limits.memory;
    };
    const setByHand = () =>
      kubectl(cluster(), [
        '-n',
        namespace,
        'set',
        'resources',
        'deploy/gwk-api',
        '-c=api',
        '--limits=memory=3Gi',
      ]);

    test.each<[HelmMajor, HelmMajor]>([
      [3, 4],
      [4, 3],
    ])('a release of Helm %i is upgraded by the other, and back', async (first, then) => {
      expect(run(first, 'install', memory('1Gi'))).toMatchObject({ status: 0 });
      for (const [major, limit] of [
        [then, '2Gi'],
        [first, '1Gi'],
        [then, '2Gi'],
      ] as const) {
        const { status, text } = run(major, 'upgrade', memory(limit));
        expect([status, text]).toEqual([0, expect.any(String)]);
        expect(await readLimit()).toBe(limit);
      }
      expect(runHelm(first, ['rollback', RELEASE, ...place()])).toMatchObject({ status: 0 });
      expect(await readLimit()).toBe('1Gi');
    });

    test('Helm 4 refuses to overwrite a field set by hand without the documented flag', async () => {
      run(4, 'install', memory('1Gi'));
      setByHand();
      const { status, text } = run(4, 'upgrade', memory('2Gi'));
      expect([status, text]).toEqual([1, expect.stringContaining('conflict with "kubectl-set"')]);
      expect(run(4, 'upgrade', memory('2Gi'), '--force-conflicts')).toMatchObject({ status: 0 });
      expect(await readLimit()).toBe('2Gi');
    });

    test.each<[HelmMajor, HelmMajor]>([
      [3, 3],
      [3, 4],
      [4, 3],
    ])('a field set by hand in a release of Helm %i is overwritten by Helm %i', async (first, then) => {
      run(first, 'install', memory('1Gi'));
      setByHand();
      const { status, text } = run(then, 'upgrade', memory('2Gi'));
      expect([status, text]).toEqual([0, expect.any(String)]);
      expect(await readLimit()).toBe('2Gi');
    });

    test.each<HelmMajor>([3, 4])(
      'Helm %i takes over a CRD of nobody with the documented flag',
      async (major) => {
        await cluster().prepare();
        const { status, text } = run(major, 'install', MINIMAL_VALUES);
        expect([status, text]).toEqual([1, expect.stringContaining('invalid ownership metadata')]);
        expect(run(major, 'install', MINIMAL_VALUES, '--take-ownership')).toMatchObject({ status: 0 });
      },
    );

    test.each<[HelmMajor, string[]]>([
      [3, []],
      [4, ['--force-conflicts']],
    ])('Helm %i rolls back to a release without v1 by the documented commands', async (major, flags) => {
      const former = copyFormerChart();
      const rollback = () => runHelm(major, ['rollback', RELEASE, '1', ...place(), ...flags]);
      const values = (chart: string, command: string) =>
        withValues(MINIMAL_VALUES, (file) =>
          runHelm(major, [command, RELEASE, chart, ...place(), `--values=${file}`]),
        );
      expect(values(former, 'install')).toMatchObject({ status: 0 });
      expect(values(CHART, 'upgrade')).toMatchObject({ status: 0 });
      expect(rollback()).toMatchObject({
        status: 1,
        text: expect.stringContaining('storedVersions') as string,
      });
      shell(cluster(), readPageCommands('upgrade.md', '"storedVersions":["v1alpha1"]'));
      const { status, text } = rollback();
      expect([status, text]).toEqual([0, expect.any(String)]);
      const { body } = await cluster().get(CRD);
      expect((body['spec'] as { versions: object[] }).versions).toHaveLength(1);
      rmSync(former, { recursive: true });
    });
  },
  { chart: true, helm3: true, own: true },
);

/** The chart with the CRD from before v1. */
function copyFormerChart(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-former-'));
  cpSync(CHART, folder, { recursive: true });
  const file = join(folder, 'files/crds/gwk.dev_instances.yaml');
  const definition = parse(readFileSync(file, 'utf8')) as KubeObject & {
    spec: { versions: { name: string; storage: boolean }[] };
  };
  const former = definition.spec.versions.find(({ name }) => name === 'v1alpha1')!;
  definition.spec.versions = [{ ...former, storage: true }];
  writeFileSync(file, stringify(definition));
  return folder;
}

import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helm, CHART, withValues } from '../support/chart/render.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';

/** Real upgrades on a real API server. No controller runs, so no pod starts. */

const RELEASE = 'gwk-trial';
const BASE = { crds: { enabled: false } };
const TRIAL = {
  ...BASE,
  demo: { enabled: true },
  media: { folder: { storageClassName: 'extensible' } },
};
const OWN_SERVERS = {
  ...BASE,
  postgres: { existingSecret: 'databases' },
  redis: { existingSecret: 'databases' },
};

const REFUSED: [string, object, string][] = [
  ['the trial becomes production with its own claim', OWN_SERVERS, 'media.folder.existingClaim'],
  [
    'the media claim shrinks',
    { ...TRIAL, media: { folder: { ...TRIAL.media.folder, size: '9.5Gi' } } },
    'Keep media.folder.size=10Gi',
  ],
  [
    'the media claim changes its class',
    { ...TRIAL, media: { folder: { storageClassName: 'fast' } } },
    'Keep media.folder.storageClassName',
  ],
  [
    'the trial loses its volumes',
    { ...TRIAL, demo: { enabled: true, persistence: { enabled: false } } },
    'Keep it',
  ],
  [
    'the volumes of the trial grow',
    { ...TRIAL, demo: { enabled: true, persistence: { size: '6Gi' } } },
    'Keep demo.persistence.size=5Gi',
  ],
  ['nameOverride changes the selectors', { ...TRIAL, nameOverride: 'trial' }, 'Keep nameOverride=gwk'],
  [
    'nameOverride renames the objects',
    { ...TRIAL, nameOverride: 'messages' },
    'Keep the names with fullnameOverride=gwk-trial',
  ],
  [
    'fullnameOverride renames the objects',
    { ...TRIAL, fullnameOverride: 'messages' },
    'Keep the names with fullnameOverride=gwk-trial',
  ],
];

const ACCEPTED: [string, object][] = [
  ['the same values', TRIAL],
  [
    'labels, an image and another rule for users',
    { ...TRIAL, commonLabels: { team: 'a' }, userIds: 'assigned' },
  ],
  ['a larger media claim', { ...TRIAL, media: { folder: { ...TRIAL.media.folder, size: '11Gi' } } }],
  [
    'the trial becomes production with another claim',
    { ...OWN_SERVERS, media: { folder: { existingClaim: 'shared' } } },
  ],
];

describeOnKubernetes(
  'an upgrade',
  (cluster) => {
    let namespace: string;
    const run = (command: string, values: object) =>
      withValues(values, (file) =>
        helm(
          command,
          RELEASE,
          CHART,
          `--kubeconfig=${cluster().plane.kubeconfig}`,
          `--namespace=${namespace}`,
          `--values=${file}`,
        ),
      );
    const revision = (): string =>
      helm('status', RELEASE, `--kubeconfig=${cluster().plane.kubeconfig}`, `--namespace=${namespace}`)
        .output.split('\n')
        .filter((line) => /^(STATUS|REVISION):/.test(line))
        .join(' ');

    const makeClass = (allowVolumeExpansion: boolean) =>
      cluster().applied({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'extensible' },
        provisioner: 'gwk.test/none',
        allowVolumeExpansion,
      });

    beforeAll(async () => {
      namespace = await cluster().namespace('upgrade');
      const { status, text } = run('install', TRIAL);
      if (status !== 0) throw new Error(text);
      await makeClass(true);
      // As the controller of volumes does. Claims without a volume cannot grow.
      await cluster().call(
        'PATCH',
        `/api/v1/namespaces/${namespace}/persistentvolumeclaims/gwk-trial-media/status`,
        {
          body: { status: { phase: 'Bound', capacity: { storage: '10Gi' } } },
          type: 'application/merge-patch+json',
        },
      );
    });

    test.each(REFUSED)('is refused before it starts if %s', (_, values, reason) => {
      const before = revision();
      const { status, text } = run('upgrade', values);
      expect([status, text]).toEqual([1, expect.stringContaining(reason)]);
      expect(revision()).toBe(before);
    });

    test('is refused before it starts if the class of the media claim does not let it grow', async () => {
      await makeClass(false);
      const values = { ...TRIAL, media: { folder: { ...TRIAL.media.folder, size: '11Gi' } } };
      expect(run('upgrade', values).text).toContain('Keep media.folder.size=10Gi');
      await makeClass(true);
    });

    test('after a value was renamed, --reuse-values is refused by its name, --reset-then-reuse-values is not', async () => {
      const former = await cluster().namespace('renamed');
      const inNamespace = [`--kubeconfig=${cluster().plane.kubeconfig}`, `--namespace=${former}`];
      const folder = mkdtempSync(join(tmpdir(), 'gwk-former-chart-'));
      try {
        cpSync(CHART, folder, { recursive: true });
        appendFileSync(join(folder, 'values.yaml'), '\nformerName: {}\n');
        rmSync(join(folder, 'values.schema.json'));
        const install = (file: string) => helm('install', 'gwk', folder, ...inNamespace, `--values=${file}`);
        expect(withValues(OWN_SERVERS, install)).toMatchObject({ status: 0 });
      } finally {
        rmSync(folder, { recursive: true });
      }
      const upgrade = (kept: string) => helm('upgrade', 'gwk', CHART, ...inNamespace, kept);
      expect(upgrade('--reuse-values')).toMatchObject({
        status: 1,
        text: expect.stringContaining('formerName'),
      });
      expect(upgrade('--reset-then-reuse-values')).toMatchObject({ status: 0 });
    });

    test('to a minor version after the next is refused before it starts', () => {
      const folder = mkdtempSync(join(tmpdir(), 'gwk-later-chart-'));
      try {
        cpSync(CHART, folder, { recursive: true });
        const file = join(folder, 'Chart.yaml');
        const chart = readFileSync(file, 'utf8');
        const upgradeTo = (version: string) => {
          writeFileSync(file, chart.replace(/^version: .*$/m, `version: ${version}`));
          return withValues(TRIAL, (values) =>
            helm(
              ...['upgrade', RELEASE, folder, `--kubeconfig=${cluster().plane.kubeconfig}`],
              ...[`--namespace=${namespace}`, `--values=${values}`, '--dry-run=server'],
            ),
          );
        };
        expect(upgradeTo('0.3.0')).toMatchObject({
          status: 1,
          text: expect.stringContaining('Upgrade to 0.2 first.'),
        });
        expect(upgradeTo('0.2.7')).toMatchObject({ status: 0 });
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    test.each(ACCEPTED)('passes with %s', (_, values) => {
      expect(run('upgrade', values)).toMatchObject({ status: 0 });
    });
  },
  { chart: true },
);

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPod } from '@gwk/operator/cluster/kubernetes/pod-spec';
import { readProfiles } from '@gwk/operator/cluster/kubernetes/profiles';
import type { KubeObject } from '../kubernetes/test-cluster.js';
import { find, type PodTemplate } from './render.js';

/** The pod of an engine that the operator creates with the profiles of the chart. */
export function buildEngine(objects: KubeObject[], namespace: string): PodTemplate {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-profiles-'));
  try {
    const file = join(folder, 'profiles.yaml');
    const { data } = find(objects, 'ConfigMap', 'gwk-operator-profiles') as unknown as {
      data: Record<string, string>;
    };
    writeFileSync(file, data['profiles.yaml']!);
    const plan = {
      key: `${namespace}/shop`,
      uid: 'f9e9bd5a-7f0e-4fc4-8f16-d77cd50a1e43',
      name: 'gwk-shop-0123456789',
      instanceId: '00000000-0000-7000-8000-000000000001',
      template: { profile: 'default', logLevel: null, revision: '' },
    };
    const settings = {
      internalUrl: 'https://gwk-internal',
      internalCa: undefined,
      logLevel: 'info',
      mediaMaxMb: 100,
      networks: {
        sandboxNetwork: undefined,
        clientVersion: 'auto',
        networkUrl: undefined,
        networkRoot: undefined,
        networkCa: undefined,
      },
    };
    return buildPod(plan, readProfiles(file)['default']!, settings) as unknown as PodTemplate;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

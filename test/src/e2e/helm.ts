import { join } from 'node:path';
import { buildOnce, type GoModule } from '../harness/kubernetes/go-modules.js';
import { ROOT } from '../harness/program.js';

const HELM: GoModule = {
  name: 'helm',
  place: 'helm',
  sources: join(ROOT, 'test/kubernetes/helm'),
  files: [],
  version: 'v4.3.1',
  builds: [{ args: ['-ldflags=-s -w'], output: 'helm', packages: ['helm.sh/helm/v4/cmd/helm'] }],
};

export const CHART = join(ROOT, 'charts/gwk');

export async function ensureHelm(say: (line: string) => void): Promise<string> {
  return join(await buildOnce(HELM, say), 'helm');
}

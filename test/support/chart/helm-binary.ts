import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, cacheFolder, goVersion, type GoModule } from '../kubernetes/go-modules.js';
import { ROOT } from '../program.js';

const HELM: GoModule = {
  name: 'helm',
  place: 'helm',
  sources: join(ROOT, 'test/support/kubernetes/go/helm'),
  files: [],
  version: 'v4.3.1',
  builds: [
    {
      args: ['-ldflags=-s -w -X helm.sh/helm/v4/internal/version.version=v4.3.1'],
      output: 'helm',
      packages: ['helm.sh/helm/v4/cmd/helm'],
    },
  ],
};

export type FoundHelm = { helm: string } | { missing: string; canBuild: boolean };

/** Uses GWK_TEST_HELM if set, otherwise a helm built from Go modules. */
export function findHelm(): FoundHelm {
  const given = process.env['GWK_TEST_HELM'];
  if (given) {
    if (existsSync(given)) return { helm: given };
    return { missing: `GWK_TEST_HELM=${given} does not exist`, canBuild: false };
  }
  const built = join(cacheFolder(HELM), 'helm');
  if (existsSync(built)) return { helm: built };
  if (goVersion() === null)
    return { missing: 'Go is not installed: install Go 1.26, or set GWK_TEST_HELM', canBuild: false };
  return { missing: 'helm is not built yet: run make kubernetes', canBuild: true };
}

/** Builds helm if it is missing and can be built. */
export async function ensureHelm(say: (line: string) => void): Promise<FoundHelm> {
  const found = findHelm();
  if ('helm' in found || !found.canBuild) return found;
  await buildOnce(HELM, say);
  return findHelm();
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, cacheFolder, goVersion, TEST_PROGRAMS, type GoModule } from '../kubernetes/go-modules.js';

const describeHelm = (major: HelmMajor, version: string): GoModule => ({
  name: `helm ${major}`,
  place: 'helm',
  sources: TEST_PROGRAMS,
  files: [],
  version,
  builds: [
    {
      args: [`-ldflags=-s -w -X helm.sh/helm/v${major}/internal/version.version=${version}`],
      output: 'helm',
      packages: [`helm.sh/helm/v${major}/cmd/helm`],
    },
  ],
});

/** The supported versions of Helm. Most tests use the newest. */
export type HelmMajor = 3 | 4;
const MODULES = { 3: describeHelm(3, 'v3.19.5'), 4: describeHelm(4, 'v4.3.1') };
const VARIABLES = { 3: 'GWK_TEST_HELM3', 4: 'GWK_TEST_HELM' };

export type FoundHelm = { helm: string } | { missing: string; canBuild: boolean };

/** Uses GWK_TEST_HELM or GWK_TEST_HELM3 if set, otherwise a helm built from Go modules. */
export function findHelm(major: HelmMajor = 4): FoundHelm {
  const variable = VARIABLES[major];
  const given = process.env[variable];
  if (given) {
    if (existsSync(given)) return { helm: given };
    return { missing: `${variable}=${given} does not exist`, canBuild: false };
  }
  const built = join(cacheFolder(MODULES[major]), 'helm');
  if (existsSync(built)) return { helm: built };
  if (goVersion() === null)
    return { missing: `Go is not installed: install Go 1.26, or set ${variable}`, canBuild: false };
  return { missing: `helm ${major} is not built yet: run make kubernetes`, canBuild: true };
}

/** Builds helm if it is missing and can be built. */
export async function ensureHelm(say: (line: string) => void, major: HelmMajor = 4): Promise<FoundHelm> {
  const found = findHelm(major);
  if ('helm' in found || !found.canBuild) return found;
  await buildOnce(MODULES[major], say);
  return findHelm(major);
}

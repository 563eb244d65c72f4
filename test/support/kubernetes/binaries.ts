import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, cacheFolder, goVersion, TEST_PROGRAMS, type GoModule } from './go-modules.js';

/**
 * Kubernetes programs for tests: those in KUBEBUILDER_ASSETS if set, otherwise built from Go modules
 * (test/support/kubernetes/go).
 */
export interface Binaries {
  folder: string;
  has(program: string): boolean;
}

export type Found = { binaries: Binaries } | { missing: string; canBuild: boolean };

const VERSION = 'v1.36.3';
const BUILT = 'kubernetes';
const PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
];
const NEEDED = ['etcd', 'kube-apiserver'];

const MODULE: GoModule = {
  name: 'kubernetes',
  place: 'kubernetes',
  sources: TEST_PROGRAMS,
  files: ['kubernetes/main.go'],
  version: VERSION,
  builds: [{ args: [`-ldflags=${linkerFlags()}`], output: BUILT, packages: ['./kubernetes'] }],
  finish: (folder) => PROGRAMS.forEach((program) => symlinkSync(BUILT, join(folder, program))),
};

function linkerFlags(): string {
  const version = 'k8s.io/component-base/version';
  const [major, minor] = VERSION.slice(1).split('.');
  return `-s -w -X ${version}.gitVersion=${VERSION} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`;
}

export function findBinaries(): Found {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets) {
    const absent = NEEDED.filter((program) => !existsSync(join(assets, program)));
    if (absent.length === 0) return { binaries: at(assets) };
    return { missing: `KUBEBUILDER_ASSETS=${assets} has no ${absent.join(' and no ')}`, canBuild: false };
  }
  const folder = cacheFolder(MODULE);
  if (existsSync(join(folder, BUILT))) return { binaries: at(folder) };
  if (goVersion() === null) {
    const missing =
      'Go is not installed: install Go 1.26, or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver';
    return { missing, canBuild: false };
  }
  return { missing: 'the programs of Kubernetes are not built yet: run make kubernetes', canBuild: true };
}

/** Builds missing programs if possible. */
export async function ensureBinaries(say: (line: string) => void): Promise<Found> {
  const found = findBinaries();
  if ('binaries' in found || !found.canBuild) return found;
  await buildOnce(MODULE, say);
  return findBinaries();
}

function at(folder: string): Binaries {
  return { folder, has: (program) => existsSync(join(folder, program)) };
}

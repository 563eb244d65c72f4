import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../program.js';

/**
 * The programs of Kubernetes that tests run: those of KUBEBUILDER_ASSETS where that is set, else built from Go
 * modules (test/kubernetes/components), once, into a folder outside the repository that is named by what they are
 * built from.
 */
export interface Binaries {
  folder: string;
  has(program: string): boolean;
}

export type Found = { binaries: Binaries } | { missing: string; canBuild: boolean };

const SOURCES = join(ROOT, 'test/kubernetes/components');
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
const SAY_EVERY_MS = 10_000;
const NICE = 10;

export function findBinaries(): Found {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets) {
    const absent = NEEDED.filter((program) => !existsSync(join(assets, program)));
    if (absent.length === 0) return { binaries: at(assets) };
    return { missing: `KUBEBUILDER_ASSETS=${assets} has no ${absent.join(' and no ')}`, canBuild: false };
  }
  const folder = cacheFolder();
  if (existsSync(join(folder, BUILT))) return { binaries: at(folder) };
  if (goVersion() === null) {
    const missing =
      'Go is not installed: install Go 1.26, or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver';
    return { missing, canBuild: false };
  }
  return { missing: 'the programs of Kubernetes are not built yet: run make kubernetes', canBuild: true };
}

/** Builds what is missing and can be had. */
export async function ensureBinaries(say: (line: string) => void): Promise<Found> {
  const found = findBinaries();
  if ('binaries' in found || !found.canBuild) return found;
  say(`kubernetes: building ${VERSION} from Go modules, once; some minutes on two cores`);
  const began = Date.now();
  await build(cacheFolder(), say);
  say(`kubernetes: built in ${Math.round((Date.now() - began) / 1000)} s`);
  return findBinaries();
}

function at(folder: string): Binaries {
  return { folder, has: (program) => existsSync(join(folder, program)) };
}

/** Other sources, another folder: a build is never mistaken for that of another version. */
function cacheFolder(): string {
  const hash = createHash('sha256').update(VERSION).update(`${process.platform}/${process.arch}`);
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(SOURCES, file)));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'gwk/kubernetes', hash.digest('hex').slice(0, 16));
}

function goVersion(): string | null {
  const done = spawnSync('go', ['version'], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : null;
}

/** Into a folder beside, which takes its name when it is whole: two that build at once do not meet. */
async function build(folder: string, say: (line: string) => void): Promise<void> {
  const half = `${folder}.${randomUUID()}`;
  mkdirSync(half, { recursive: true });
  try {
    await goBuild(join(half, BUILT), say);
    for (const program of PROGRAMS) symlinkSync(BUILT, join(half, program));
    if (!existsSync(folder)) renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

function goBuild(output: string, say: (line: string) => void): Promise<void> {
  const version = 'k8s.io/component-base/version';
  const [major, minor] = VERSION.slice(1).split('.');
  const flags = `-s -w -X ${version}.gitVersion=${VERSION} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`;
  const child = spawn(
    'go',
    ['build', '-v', '-mod=mod', '-trimpath', `-ldflags=${flags}`, '-o', output, '.'],
    {
      cwd: SOURCES,
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  // Whoever works on this machine meanwhile comes first.
  if (child.pid !== undefined) setPriority(child.pid, NICE);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const began = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1000);
    say(`kubernetes: ${lines.length} steps done in ${seconds} s; now ${lines.at(-1) ?? 'reading modules'}`);
  }, SAY_EVERY_MS);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearInterval(timer);
      if (code === 0) resolve();
      else reject(new Error(`go build ended with ${code}:\n${lines.slice(-20).join('\n')}`));
    });
  });
}

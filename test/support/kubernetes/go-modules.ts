import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildAlone } from '../build-lock.js';
import { ROOT } from '../program.js';

/**
 * Kubernetes, Helm and CoreDNS. They are one module with one list of versions, so that each package is compiled once.
 */
export const TEST_PROGRAMS = join(ROOT, 'test/support/kubernetes/go');

/**
 * Programs built once from Go modules. The cache folder is named by a hash of the sources, so that different versions
 * use different folders.
 */
export interface GoModule {
  /** Name in progress messages. */
  name: string;
  /** Folder in the cache. */
  place: string;
  sources: string;
  /** Files beside go.mod and go.sum that change the result. */
  files: string[];
  version: string;
  /** Calls of `go build`, with their output. */
  builds: { args: string[]; output: string; packages: string[] }[];
  /** Runs in the folder after all builds. */
  finish?: (folder: string) => void;
}

const SAY_EVERY_MS = 10_000;
const NICE = 10;

export function goVersion(): string | null {
  const done = spawnSync('go', ['version'], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : null;
}

/** Cache folder of the built module. */
export function cacheFolder({ version, sources, files, place }: GoModule): string {
  const hash = createHash('sha256').update(version).update(`${process.platform}/${process.arch}`);
  for (const file of ['go.mod', 'go.sum', ...files]) hash.update(readFileSync(join(sources, file)));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'gwk', place, hash.digest('hex').slice(0, 16));
}

export async function buildOnce(module: GoModule, say: (line: string) => void): Promise<string> {
  const folder = cacheFolder(module);
  if (!existsSync(folder)) await buildAlone(`${folder}.lock`, () => buildFolder(folder, module, say));
  return folder;
}

async function buildFolder(folder: string, module: GoModule, say: (line: string) => void): Promise<void> {
  // Another process has built it meanwhile.
  if (existsSync(folder)) return;
  say(`${module.name}: building ${module.version} from Go modules, once; takes a few minutes on two cores`);
  const began = Date.now();
  await buildInto(folder, module, say);
  say(`${module.name}: built in ${Math.round((Date.now() - began) / 1000)} s`);
}

/** Builds into a temporary folder and renames it when complete, so that concurrent builds do not collide. */
async function buildInto(folder: string, module: GoModule, say: (line: string) => void): Promise<void> {
  const half = `${folder}.${randomUUID()}`;
  mkdirSync(half, { recursive: true });
  try {
    for (const { args, output, packages } of module.builds)
      await goBuild(module, [...args, '-o', join(half, output), ...packages], say);
    module.finish?.(half);
    if (!existsSync(folder)) renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

function goBuild({ name, sources }: GoModule, args: string[], say: (line: string) => void): Promise<void> {
  const child = spawn('go', ['build', '-v', '-trimpath', ...args], {
    cwd: sources,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // Low priority, so that other work on this machine goes first.
  if (child.pid !== undefined) setPriority(child.pid, NICE);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const began = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1000);
    say(`${name}: ${lines.length} steps done in ${seconds} s; current: ${lines.at(-1) ?? 'reading modules'}`);
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

import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Programs built from Go modules, once, into a folder outside the repository that is named by what they are built
 * from: other sources, another folder, so that a build is never mistaken for that of another version.
 */
export interface GoModule {
  /** What is said of it while it is built. */
  name: string;
  /** Its folder in the cache. */
  place: string;
  sources: string;
  /** Beside go.mod and go.sum: what changes the outcome. */
  files: string[];
  version: string;
  /** Each a call of `go build`, with where to. */
  builds: { args: string[]; output: string; packages: string[] }[];
  /** What is done in the folder when all is built. */
  finish?: (folder: string) => void;
}

const SAY_EVERY_MS = 10_000;
const NICE = 10;

export function goVersion(): string | null {
  const done = spawnSync('go', ['version'], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : null;
}

/** Where it is, or will be. */
export function cacheFolder({ version, sources, files, place }: GoModule): string {
  const hash = createHash('sha256').update(version).update(`${process.platform}/${process.arch}`);
  for (const file of ['go.mod', 'go.sum', ...files]) hash.update(readFileSync(join(sources, file)));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'gwk', place, hash.digest('hex').slice(0, 16));
}

export async function buildOnce(module: GoModule, say: (line: string) => void): Promise<string> {
  const folder = cacheFolder(module);
  if (existsSync(folder)) return folder;
  say(`${module.name}: building ${module.version} from Go modules, once; some minutes on two cores`);
  const began = Date.now();
  await buildInto(folder, module, say);
  say(`${module.name}: built in ${Math.round((Date.now() - began) / 1000)} s`);
  return folder;
}

/** Into a folder beside, which takes its name when it is whole: two that build at once do not meet. */
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
  const child = spawn('go', ['build', '-v', '-mod=mod', '-trimpath', ...args], {
    cwd: sources,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // Whoever works on this machine meanwhile comes first.
  if (child.pid !== undefined) setPriority(child.pid, NICE);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const began = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1000);
    say(`${name}: ${lines.length} steps done in ${seconds} s; now ${lines.at(-1) ?? 'reading modules'}`);
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

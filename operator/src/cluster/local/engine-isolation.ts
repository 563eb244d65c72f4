import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Isolation of engines on one machine. Node's permission model lets an engine read the application, write its own temporary
 * folder and start no program. If the operator is root, each engine also has a user of its own.
 */
export interface EngineIsolation {
  /** Files and folders of the application. */
  readable: readonly string[];
  /** Whether each engine gets a user of its own. */
  separateUsers: boolean;
}

/** Confinement of the process of one engine. */
export interface EngineConfinement {
  /** Options of Node. */
  flags: string[];
  user: { uid: number; gid: number } | null;
  temporaryFolder: string;
  /** Removes the temporary folder. */
  release: () => void;
}

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const APPLICATION = ['package.json', 'bin', 'node_modules', 'core', 'engine-pod'].map((name) =>
  join(ROOT, name),
);
/** Users above those of the system and of containers. The end of a pod's name is random. */
const FIRST_USER = 1_000_000_000;
const RANDOM_DIGITS = /[0-9a-f]{7}$/;

/** @param command starts `gwk engine` */
export function detectEngineIsolation([node, ...args]: readonly [string, ...string[]]): EngineIsolation {
  // An engine checks that its own Node exists.
  const readable = [...APPLICATION, node].filter((path) => existsSync(path));
  const isRoot = process.getuid?.() === 0;
  const trial = { uid: FIRST_USER, gid: FIRST_USER, stdio: 'ignore', env: {}, cwd: '/' } as const;
  const flags = buildFlags(readable, []);
  // Another user may be unable to read the application, or unknown to the container.
  const separateUsers = isRoot && spawnSync(node, [...flags, ...args, '--help'], trial).status === 0;
  return { readable, separateUsers };
}

export function confineEngine({ readable, separateUsers }: EngineIsolation, pod: string): EngineConfinement {
  const temporaryFolder = mkdtempSync(join(tmpdir(), 'gwk-engine-'));
  const id = FIRST_USER + Number.parseInt(RANDOM_DIGITS.exec(pod)?.[0] ?? '0', 16);
  if (separateUsers) chownSync(temporaryFolder, id, id);
  const failpoints = process.env['GWK_FAILPOINT_DIR'];
  return {
    flags: buildFlags(readable, failpoints ? [temporaryFolder, failpoints] : [temporaryFolder]),
    user: separateUsers ? { uid: id, gid: id } : null,
    temporaryFolder,
    release: () => rmSync(temporaryFolder, { recursive: true, force: true }),
  };
}

function buildFlags(readable: readonly string[], writable: readonly string[]): string[] {
  const read = [...readable, ...writable].map((path) => `--allow-fs-read=${path}`);
  return ['--permission', ...read, ...writable.map((path) => `--allow-fs-write=${path}`)];
}

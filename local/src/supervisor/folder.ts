import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

const LOG_LIMIT = 10 * 1024 * 1024;

export type Folder = ReturnType<typeof prepareFolder>;

/** The folder contains Instances in a form that this version does not read. */
export class FormerLayout extends Error {
  override name = 'FormerLayout';
}

/** @throws FormerLayout, because a start would lose the Instances */
export function checkLayout(path: string): void {
  const manifests = join(path, 'instances');
  if (!existsSync(manifests) || readdirSync(manifests).every((name) => name.startsWith('.'))) return;
  throw new FormerLayout(
    `${manifests} contains Instances as YAML files, which this version does not read. ` +
      `To start without them, delete all data of this gateway with make reset, or delete ${path}.`,
  );
}

/** Creates the folder of one local gateway, closed to other users. */
export function prepareFolder(given: string) {
  const path = resolve(given);
  mkdirSync(join(path, 'log'), { recursive: true });
  chmodSync(path, 0o700);
  return {
    path,
    lock: join(path, 'lock'),
    secrets: join(path, 'secrets.json'),
    /** For scripts: {"base_url", "api_key"}. */
    access: join(path, 'gwk.json'),
    postgres: join(path, 'postgres'),
    redis: join(path, 'redis'),
    media: join(path, 'media'),
    /** Log file of a component. A file above the limit is rotated. */
    log(name: string): string {
      const file = join(path, 'log', `${name}.log`);
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT) renameSync(file, `${file}.1`);
      return file;
    },
  };
}

export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${file} is not readable: ${(error as Error).message}`, { cause: error });
  }
}

/** Writes the file atomically, readable by its owner only. */
export function writePrivateJson(file: string, value: unknown): void {
  const unfinished = `${file}.new`;
  writeFileSync(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(unfinished, file);
}

import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const LOG_LIMIT = 10 * 1024 * 1024;

/** The folder of one local gateway, closed to other users. */
export class Folder {
  readonly path: string;
  readonly lock: string;
  readonly secrets: string;
  /** For scripts: {"base_url", "api_key"}. */
  readonly access: string;
  readonly postgres: string;
  readonly redis: string;
  readonly instances: string;
  readonly media: string;

  constructor(given: string) {
    const path = resolve(given);
    this.path = path;
    this.lock = join(path, 'lock');
    this.secrets = join(path, 'secrets.json');
    this.access = join(path, 'gwk.json');
    this.postgres = join(path, 'postgres');
    this.redis = join(path, 'redis');
    this.instances = join(path, 'instances');
    this.media = join(path, 'media');
    mkdirSync(join(path, 'log'), { recursive: true });
    mkdirSync(this.instances, { recursive: true });
    chmodSync(path, 0o700);
  }

  /** Log file of a component. A file above the limit is rotated. */
  log(name: string): string {
    const file = join(this.path, 'log', `${name}.log`);
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT) renameSync(file, `${file}.1`);
    return file;
  }
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

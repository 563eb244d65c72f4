import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodTemplate } from '../cluster.js';
import { ensureFolder, readIfExists, removeFile, writeAtomically } from './disk.js';
import type { ProcessIdentity } from './processes.js';

/**
 * A pod as it is remembered: written before its process is started, removed once its end was reported to the API.
 * So whatever is killed when, every process that may run has a record, and every lease that may be held by one of
 * ours has one too.
 */
export interface PodRecord {
  name: string;
  key: string;
  uid: string;
  instanceId: string;
  version: string;
  template: PodTemplate;
  startedAt: number;
  /** Null from before the start until the pid was written. */
  process: ProcessIdentity | null;
}

export class PodRecords {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, 'pods');
  }

  async load(): Promise<PodRecord[]> {
    await ensureFolder(this.#folder);
    const names = (await readdir(this.#folder)).filter(
      (name) => name.endsWith('.json') && !name.startsWith('.'),
    );
    const texts = await Promise.all(names.map((name) => readIfExists(join(this.#folder, name))));
    return texts.map((text, at) => parse(join(this.#folder, names[at]!), text));
  }

  save(record: PodRecord): Promise<void> {
    return writeAtomically(this.#path(record.name), JSON.stringify(record), { mode: 0o600 });
  }

  remove(name: string): Promise<void> {
    return removeFile(this.#path(name));
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.json`);
  }
}

function parse(path: string, text: string | null): PodRecord {
  try {
    return JSON.parse(text ?? '') as PodRecord;
  } catch (error) {
    throw new Error(
      `${path} is not what was written there. See that no engine of that name runs, then remove the file.`,
      { cause: error },
    );
  }
}

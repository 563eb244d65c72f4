import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodTemplate } from '../cluster.js';
import { ensureFolder, readIfExists, removeFile, writeAtomically } from './disk.js';
import type { ProcessIdentity } from './processes.js';

/**
 * Record of a pod on disk: written before its process starts, removed after its exit was reported to the API. After a
 * crash at any point, every process that may run and every lease it may hold has a record.
 */
export interface PodRecord {
  name: string;
  key: string;
  uid: string;
  instanceId: string;
  version: string;
  template: PodTemplate;
  startedAt: number;
  /** Null until the pid is written. */
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
    throw new Error(`${path} is corrupt. Check that no engine of that name runs, then remove the file.`, {
      cause: error,
    });
  }
}

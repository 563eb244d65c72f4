import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, readIfExists, removeFile, writeAtomically } from './disk.js';

/** A folder with one JSON file for each object. */
export class JsonFolder<T> {
  readonly #path: string;
  readonly #nameOf: (object: T) => string;
  readonly #advice: string;

  /** @param advice follows the name of a corrupt file in the error message */
  constructor(path: string, nameOf: (object: T) => string, advice: string) {
    this.#path = path;
    this.#nameOf = nameOf;
    this.#advice = advice;
  }

  /** @throws Error if a file is corrupt: an object must not silently disappear */
  async load(): Promise<T[]> {
    await ensureFolder(this.#path);
    const names = (await readdir(this.#path)).filter((name) => /^[^.].*\.json$/.test(name));
    return Promise.all(names.map((name) => this.#read(join(this.#path, name))));
  }

  save(object: T): Promise<void> {
    return writeAtomically(this.#file(object), `${JSON.stringify(object, null, 2)}\n`, 0o600);
  }

  remove(object: T): Promise<void> {
    return removeFile(this.#file(object));
  }

  #file(object: T): string {
    return join(this.#path, `${this.#nameOf(object)}.json`);
  }

  async #read(path: string): Promise<T> {
    try {
      return JSON.parse((await readIfExists(path)) ?? '') as T;
    } catch (error) {
      throw new Error(`${path} is corrupt. ${this.#advice}`, { cause: error });
    }
  }
}

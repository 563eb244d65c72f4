import type { Place } from '@gwk/core/desired-state/desired-state';
import type { RecordedEvent } from '@gwk/core/desired-state/operator-client';
import type { InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, readIfExists, removeFile, STATE_FOLDER, writeAtomically } from './disk.js';
import type { Desired } from './manifest.js';

/** State that the operator keeps for a manifest, with its content, which outlives the file while the engine stops. */
export interface StoredResource extends Place {
  uid: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  finalizers: string[];
  desired: Desired;
  /** File that contains the manifest; null once it is removed. */
  file: string | null;
  status?: InstanceResourceStatus;
  events: RecordedEvent[];
}

/**
 * The folder `.state/` beside the manifests. Its own .gitignore keeps it out of git, where users may keep the
 * manifests.
 */
export class ResourceFiles {
  readonly folder: string;
  readonly #resources: string;

  constructor(manifests: string) {
    this.folder = join(manifests, STATE_FOLDER);
    this.#resources = join(this.folder, 'resources');
  }

  async prepare(): Promise<void> {
    await ensureFolder(this.#resources);
    await writeAtomically(join(this.folder, '.gitignore'), '*\n');
  }

  /** @throws Error if a file is corrupt: a resource must not silently lose its uid */
  async load(): Promise<StoredResource[]> {
    const names = (await readdir(this.#resources)).filter((name) => /^[^.].*\.json$/.test(name));
    return Promise.all(names.map((name) => this.#read(join(this.#resources, name))));
  }

  save(stored: StoredResource): Promise<void> {
    return writeAtomically(this.#path(stored), `${JSON.stringify(stored, null, 2)}\n`);
  }

  remove(place: Place): Promise<void> {
    return removeFile(this.#path(place));
  }

  /** Neither part can contain an `@`. */
  #path({ namespace, name }: Place): string {
    return join(this.#resources, `${namespace}@${name}.json`);
  }

  async #read(path: string): Promise<StoredResource> {
    try {
      return JSON.parse((await readIfExists(path)) ?? '') as StoredResource;
    } catch (error) {
      const advice = 'restore it, or remove it to create the instance again';
      throw new Error(`${path} is corrupt; ${advice}`, { cause: error });
    }
  }
}

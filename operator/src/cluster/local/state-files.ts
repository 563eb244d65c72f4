import type { InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Desired } from './desired.js';
import { ensureFolder, readIfExists, removeFile, STATE_FOLDER, writeAtomically } from './disk.js';
import type { Owners } from './server-side-apply.js';
import type { Story } from './event-list.js';

/** What the cluster issued for a manifest, and its last content, which outlives the file while engines stop. */
export interface ResourceState {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  finalizers: string[];
  desired: Desired;
  owners: Owners;
  /** Where the manifest is; null once it is removed. */
  source: Source | null;
}

export interface Source {
  file: string;
  index: number;
}

/** What is learned again after a loss. */
export interface VolatileState {
  uid: string;
  status?: InstanceResourceStatus;
  story: Story;
}

/**
 * `.state/` beside the manifests, kept out of git by a .gitignore of its own: people keep manifests there, not what
 * a machine made of them.
 */
export class StateFiles {
  readonly #resources: string;
  readonly #learned: string;
  readonly folder: string;

  constructor(manifests: string) {
    this.folder = join(manifests, STATE_FOLDER);
    this.#resources = join(this.folder, 'resources');
    this.#learned = join(this.folder, 'status');
  }

  async prepare(): Promise<void> {
    await ensureFolder(this.#resources);
    await ensureFolder(this.#learned);
    await writeAtomically(join(this.folder, '.gitignore'), '*\n');
  }

  /** @throws Error where a file is not what was written: a resource must not lose its uid unseen */
  async load(): Promise<{ state: ResourceState; learned: VolatileState | null }[]> {
    const names = (await readdir(this.#resources)).filter(
      (name) => name.endsWith('.json') && !name.startsWith('.'),
    );
    return Promise.all(
      names.map(async (name) => {
        const path = join(this.#resources, name);
        const state = parse<ResourceState>(path, await readIfExists(path));
        return { state, learned: await this.#loadLearned(name, state.uid) };
      }),
    );
  }

  async #loadLearned(name: string, uid: string): Promise<VolatileState | null> {
    try {
      const learned = JSON.parse(
        (await readIfExists(join(this.#learned, name))) ?? 'null',
      ) as VolatileState | null;
      return learned?.uid === uid ? learned : null;
    } catch {
      return null;
    }
  }

  save(state: ResourceState): Promise<void> {
    return writeAtomically(join(this.#resources, fileOf(state)), `${JSON.stringify(state, null, 2)}\n`);
  }

  saveLearned(place: Place, learned: VolatileState): Promise<void> {
    return writeAtomically(join(this.#learned, fileOf(place)), JSON.stringify(learned), { durable: false });
  }

  async remove(place: Place): Promise<void> {
    await removeFile(join(this.#resources, fileOf(place)));
    await removeFile(join(this.#learned, fileOf(place)));
  }
}

interface Place {
  namespace: string;
  name: string;
}

/** Neither part can hold an `@`. */
const fileOf = ({ namespace, name }: Place): string => `${namespace}@${name}.json`;

function parse<T>(path: string, text: string | null): T {
  try {
    return JSON.parse(text ?? '') as T;
  } catch (error) {
    throw new Error(
      `${path} is not what was written there; restore it, or remove it to have the instance made anew`,
      {
        cause: error,
      },
    );
  }
}

import type { InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Desired } from './desired.js';
import { ensureFolder, readIfExists, removeFile, STATE_FOLDER, writeAtomically } from './disk.js';
import type { Owners } from './server-side-apply.js';
import type { EventList } from './event-list.js';

/** State the cluster keeps for a manifest, with its last content, which outlives the file while the engine stops. */
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

/** State that the operator can rebuild after a loss. */
interface VolatileState {
  uid: string;
  status?: InstanceResourceStatus;
  events: EventList;
}

/**
 * The folder `.state/` beside the manifests. Its own .gitignore keeps it out of git, where users may keep the
 * manifests.
 */
export class StateFiles {
  readonly #resources: string;
  readonly #volatile: string;
  readonly folder: string;

  constructor(manifests: string) {
    this.folder = join(manifests, STATE_FOLDER);
    this.#resources = join(this.folder, 'resources');
    this.#volatile = join(this.folder, 'status');
  }

  async prepare(): Promise<void> {
    await ensureFolder(this.#resources);
    await ensureFolder(this.#volatile);
    await writeAtomically(join(this.folder, '.gitignore'), '*\n');
  }

  /** @throws Error if a file is corrupt: a resource must not silently lose its uid */
  async load(): Promise<{ state: ResourceState; volatile: VolatileState | null }[]> {
    const names = (await readdir(this.#resources)).filter(
      (name) => name.endsWith('.json') && !name.startsWith('.'),
    );
    return Promise.all(
      names.map(async (name) => {
        const path = join(this.#resources, name);
        const state = parse<ResourceState>(path, await readIfExists(path));
        return { state, volatile: await this.#loadVolatile(name, state.uid) };
      }),
    );
  }

  async #loadVolatile(name: string, uid: string): Promise<VolatileState | null> {
    try {
      const volatile = JSON.parse(
        (await readIfExists(join(this.#volatile, name))) ?? 'null',
      ) as VolatileState | null;
      return volatile?.uid === uid ? volatile : null;
    } catch {
      return null;
    }
  }

  save(state: ResourceState): Promise<void> {
    return writeAtomically(
      join(this.#resources, buildFileName(state)),
      `${JSON.stringify(state, null, 2)}\n`,
    );
  }

  saveVolatile(place: Place, volatile: VolatileState): Promise<void> {
    return writeAtomically(join(this.#volatile, buildFileName(place)), JSON.stringify(volatile), {
      durable: false,
    });
  }

  async remove(place: Place): Promise<void> {
    await removeFile(join(this.#resources, buildFileName(place)));
    await removeFile(join(this.#volatile, buildFileName(place)));
  }
}

interface Place {
  namespace: string;
  name: string;
}

/** Neither part can contain an `@`. */
const buildFileName = ({ namespace, name }: Place): string => `${namespace}@${name}.json`;

function parse<T>(path: string, text: string | null): T {
  try {
    return JSON.parse(text ?? '') as T;
  } catch (error) {
    throw new Error(`${path} is corrupt; restore it, or remove it to create the instance again`, {
      cause: error,
    });
  }
}

import { InstanceResource } from '@gwk/core/resources/manifest';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { formatKey } from '../cluster.js';
import type { PodRecord } from './engine-process.js';

/** State of the local cluster. */
export interface State {
  /** By key. */
  instances: Map<string, InstanceResource>;
  /** Records of engines by the name of their pod. */
  pods: Map<string, PodRecord>;
}

const Content = z.strictObject({
  instances: z.array(InstanceResource),
  pods: z.array(z.custom<PodRecord>()),
});

interface Update {
  /** Changes the draft. Returns a function that reports the result. */
  apply: (draft: State) => () => void;
  reject: (error: unknown) => void;
}

/**
 * The state of the local cluster in one JSON file. Memory shows a change only after the file contains it. Updates that
 * arrive during a write share the next one, so that the number of writes does not grow with the number of callers.
 */
export class StateFile {
  /** Why the last write failed. */
  fault: string | null = null;
  #state: State = { instances: new Map(), pods: new Map() };
  #waiting: Update[] = [];
  #isWriting = false;
  #onChange: (key: string) => void = () => undefined;

  constructor(readonly path: string) {}

  get state(): Readonly<State> {
    return this.#state;
  }

  /**
   * Reads the file, which may not exist yet. Calls `onChange` with the keys of instances that later updates change.
   * @throws Error if it is corrupt: an instance must not silently disappear
   */
  async load(onChange: (key: string) => void): Promise<void> {
    const { instances, pods } = await readContent(this.path);
    this.#state = {
      instances: new Map(instances.map((resource) => [formatKey(resource.metadata), resource])),
      pods: new Map(pods.map((record) => [record.name, record])),
    };
    this.#onChange = onChange;
  }

  /** @param change gets a copy of the maps; its objects are shared. It throws before its first change, or not at all. */
  update<T>(change: (draft: State) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const apply = (draft: State) => {
        const result = change(draft);
        return () => resolve(result);
      };
      this.#waiting.push({ apply, reject });
      if (!this.#isWriting) void this.#writeWaiting();
    });
  }

  /** Completes all updates. */
  async close(): Promise<void> {
    await this.update(() => undefined).catch(() => undefined);
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0));
    this.#isWriting = false;
  }

  async #write(updates: Update[]): Promise<void> {
    const before = this.#state;
    const draft = { instances: new Map(before.instances), pods: new Map(before.pods) };
    const applied = updates.flatMap(({ apply, reject }) => {
      try {
        return [{ report: apply(draft), reject }];
      } catch (error) {
        reject(error);
        return [];
      }
    });
    const changed = findChanges(before.instances, draft.instances);
    try {
      if (changed.length > 0 || findChanges(before.pods, draft.pods).length > 0) {
        await writePrivateJson(this.path, renderContent(draft));
        this.fault = null;
      }
    } catch (error) {
      this.fault = (error as Error).message;
      for (const { reject } of applied) reject(error);
      return;
    }
    this.#state = draft;
    for (const { report } of applied) report();
    for (const key of changed) this.#onChange(key);
  }
}

async function readContent(path: string): Promise<z.infer<typeof Content>> {
  try {
    return Content.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { instances: [], pods: [] };
    throw new Error(`${path} is corrupt. Restore it, or delete all data of this gateway (make reset).`, {
      cause: error,
    });
  }
}

const renderContent = ({ instances, pods }: State): z.infer<typeof Content> => ({
  instances: [...instances.values()],
  pods: [...pods.values()],
});

function findChanges<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key));
}

/**
 * Replaces a file that only its owner can read. Readers see the old or the new content, also after a crash at any
 * point, and the new one is durable once this resolves. A file has one writer at a time.
 */
export async function writePrivateJson(path: string, value: object): Promise<void> {
  const unfinished = `${path}.new`;
  await writeFile(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
  await rename(unfinished, path);
  // A rename is durable once its folder is synced.
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

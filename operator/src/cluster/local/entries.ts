import {
  MANIFEST_API_VERSION,
  type InstanceResource,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import { formatKey } from '../cluster.js';
import { parseSpec } from './desired.js';
import type { ResourceState } from './state-files.js';
import type { Story } from './event-list.js';

/** A resource with what only this cluster knows of it. */
export interface Entry {
  key: string;
  state: ResourceState;
  story: Story;
  resource: InstanceResource;
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface Change {
  type: ChangeType;
  version: number;
  resource: InstanceResource;
}

/** How many changes a watcher may have missed and still go on from where it was. */
const REMEMBERED = 1000;

/**
 * All resources in memory, and the order of their changes. Versions begin at the time of the start, so that one of
 * an earlier run is never taken for one of this.
 */
export class Entries {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #changes: Change[] = [];
  #version = Date.now() * 1000;

  get version(): number {
    return this.#version;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  all(): Entry[] {
    return [...this.#entries.values()];
  }

  put(state: ResourceState, story: Story, status: InstanceResourceStatus | undefined): Entry {
    const key = formatKey(state);
    const type = this.#entries.has(key) ? 'MODIFIED' : 'ADDED';
    const version = ++this.#version;
    const entry = { key, state, story, resource: resourceOf(state, status, version) };
    this.#entries.set(key, entry);
    this.#announce({ type, version, resource: entry.resource });
    return entry;
  }

  tell(key: string, story: Story): void {
    const entry = this.#entries.get(key);
    if (entry) entry.story = story;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    const version = ++this.#version;
    const { metadata } = entry.resource;
    const resource = { ...entry.resource, metadata: { ...metadata, resourceVersion: String(version) } };
    this.#announce({ type: 'DELETED', version, resource });
  }

  /** Changes after a version; null where they are no longer remembered. */
  since(version: number): Change[] | null {
    const oldest = this.#changes[0];
    const known =
      version <= this.#version && (oldest ? version >= oldest.version - 1 : version === this.#version);
    return known ? this.#changes.filter((change) => change.version > version) : null;
  }

  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > REMEMBERED) this.#changes.shift();
    for (const listener of this.#listeners) listener(change);
  }
}

function resourceOf(
  state: ResourceState,
  status: InstanceResourceStatus | undefined,
  version: number,
): InstanceResource {
  const { labels, annotations } = state.desired;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      name: state.name,
      namespace: state.namespace,
      uid: state.uid,
      generation: state.generation,
      resourceVersion: String(version),
      creationTimestamp: state.creationTimestamp,
      ...(state.deletionTimestamp !== undefined && { deletionTimestamp: state.deletionTimestamp }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(state.finalizers.length > 0 && { finalizers: state.finalizers }),
    },
    spec: parseSpec(state.name, state.desired),
    ...(status && { status }),
  };
}

import {
  MANIFEST_API_VERSION,
  type InstanceResource,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import { formatKey } from '../cluster.js';
import { parseSpec } from './desired.js';
import type { ResourceState } from './state-files.js';
import type { EventList } from './event-list.js';

/** A resource with the data that only the local cluster keeps. */
export interface Entry {
  key: string;
  state: ResourceState;
  events: EventList;
  resource: InstanceResource;
}

type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface Change {
  type: ChangeType;
  version: number;
  resource: InstanceResource;
}

/** Number of changes that a watcher may have missed and still resume. */
const MAX_CHANGES = 1000;

/**
 * All resources in memory, with their changes in order. Versions start at the current time, so that no version of an
 * earlier run matches a new one.
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

  put(state: ResourceState, events: EventList, status: InstanceResourceStatus | undefined): Entry {
    const key = formatKey(state);
    const type = this.#entries.has(key) ? 'MODIFIED' : 'ADDED';
    const version = ++this.#version;
    const entry = { key, state, events, resource: buildResource(state, status, version) };
    this.#entries.set(key, entry);
    this.#announce({ type, version, resource: entry.resource });
    return entry;
  }

  setEvents(key: string, events: EventList): void {
    const entry = this.#entries.get(key);
    if (entry) entry.events = events;
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

  /** Changes after a version; null if they are no longer remembered. */
  since(version: number): Change[] | null {
    const oldest = this.#changes[0];
    const known =
      version <= this.#version && (oldest ? version >= oldest.version - 1 : version === this.#version);
    return known ? this.#changes.filter((change) => change.version > version) : null;
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > MAX_CHANGES) this.#changes.shift();
    for (const listener of this.#listeners) listener(change);
  }
}

function buildResource(
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

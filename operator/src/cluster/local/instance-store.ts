import {
  ResourceConflict,
  type InstanceDetails,
  type NewResource,
  type Place,
} from '@gwk/core/desired-state/desired-state';
import {
  FINALIZER,
  MANIFEST_API_VERSION,
  type InstanceResource,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { randomUUID } from 'node:crypto';
import { formatKey, type Target } from '../cluster.js';
import type { StateFile } from './state-file.js';
import { checkImmutableFields, readNewResource } from './validate.js';

type Metadata = InstanceResource['metadata'];

/** Instance resources on one machine. Gives them identity, generation and versions like the Kubernetes API. */
export class InstanceStore {
  /** Codes of `gwk pair` by key. In memory only: the next operator finds the request and publishes it again. */
  readonly pairings = new Map<string, PairingView>();
  readonly #file: StateFile;

  constructor(file: StateFile) {
    this.#file = file;
  }

  keys(): string[] {
    return [...this.#file.state.instances.keys()];
  }

  get(key: string): InstanceResource | undefined {
    return this.#file.state.instances.get(key);
  }

  list(namespace: string | null): InstanceResource[] {
    const all = [...this.#file.state.instances.values()];
    return all.filter(({ metadata }) => namespace === null || metadata.namespace === namespace);
  }

  details(place: Place): InstanceDetails | null {
    const key = formatKey(place);
    const resource = this.get(key);
    return resource ? { resource, pairing: this.pairings.get(key) ?? null } : null;
  }

  /** The resource comes from outside of this process; it is validated. */
  async create(given: NewResource): Promise<InstanceResource> {
    const { metadata, spec } = readNewResource(given);
    const creationTimestamp = new Date().toISOString();
    const identity = { uid: randomUUID(), generation: 1, resourceVersion: '1', creationTimestamp };
    const resource: InstanceResource = {
      apiVersion: MANIFEST_API_VERSION,
      kind: 'Instance',
      metadata: { ...metadata, ...identity },
      spec,
    };
    return this.#file.update(({ instances }) => {
      const key = formatKey(metadata);
      if (instances.has(key))
        throw new ResourceConflict(`instances.gwk.dev "${metadata.name}" already exists`);
      instances.set(key, resource);
      return resource;
    });
  }

  change({ metadata, spec }: InstanceResource): Promise<InstanceResource> {
    const { uid, resourceVersion, labels, annotations } = metadata;
    return this.#file.update(({ instances }) => {
      const key = formatKey(metadata);
      const present = instances.get(key);
      if (present?.metadata.uid !== uid || present.metadata.resourceVersion !== resourceVersion)
        throw new ResourceConflict(`instances.gwk.dev "${metadata.name}" has changed; read it again`);
      checkImmutableFields(present, spec);
      const hasNewSpec = canonicalJson(present.spec) !== canonicalJson(spec);
      const generation = present.metadata.generation + (hasNewSpec ? 1 : 0);
      const changed = { ...revise(present, { labels, annotations, generation }), spec };
      instances.set(key, changed);
      return changed;
    });
  }

  async delete(place: Place): Promise<void> {
    const key = formatKey(place);
    const present = this.get(key);
    if (present) await this.deleteResource({ key, uid: present.metadata.uid });
  }

  /** Marks it as deleted. It disappears with its last finalizer. */
  deleteResource(target: Target): Promise<void> {
    const deletionTimestamp = new Date().toISOString();
    return this.edit(target, (present) =>
      present.metadata.deletionTimestamp === undefined ? revise(present, { deletionTimestamp }) : present,
    );
  }

  setFinalizer(target: Target, isSet: boolean): Promise<void> {
    return this.edit(target, (present) => revise(present, { finalizers: isSet ? [FINALIZER] : [] }));
  }

  /** Keeps the version, so that a status never makes the change of a user conflict. */
  setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    return this.edit(target, (present) => ({ ...present, status }));
  }

  /** Removes a deleted resource without finalizers. No effect if the resource of that uid no longer exists. */
  edit({ key, uid }: Target, change: (present: InstanceResource) => InstanceResource): Promise<void> {
    return this.#file.update(({ instances }) => {
      const present = instances.get(key);
      if (present?.metadata.uid !== uid) return;
      const changed = change(present);
      const { deletionTimestamp, finalizers = [] } = changed.metadata;
      if (deletionTimestamp !== undefined && finalizers.length === 0) instances.delete(key);
      else instances.set(key, changed);
    });
  }
}

/** Changes metadata, and with them the version. */
export function revise(resource: InstanceResource, change: Partial<Metadata>): InstanceResource {
  const resourceVersion = String(Number(resource.metadata.resourceVersion) + 1);
  return { ...resource, metadata: { ...resource.metadata, ...change, resourceVersion } };
}

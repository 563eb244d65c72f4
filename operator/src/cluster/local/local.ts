import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import type { Logger } from '@gwk/core/log';
import { readEngineChoice } from '../../controller/decide.js';
import {
  formatKey,
  type Cluster,
  type Pod,
  type PodPlan,
  type PodTemplate,
  type InstanceEvent,
  type Target,
} from '../cluster.js';
import { removeTemporaryFiles } from './disk.js';
import type { EngineLaunch } from './engine-process.js';
import { lockFolder } from './folder-lock.js';
import { Pods } from './pods.js';
import { Store } from './store.js';
import { FolderSync, type SyncTimes } from './folder-sync.js';

export interface LocalClusterOptions {
  folder: string;
  launch: EngineLaunch;
  /** Of the engines. */
  version: string;
  log: Logger;
  maxConcurrentStarts: number;
  graceMs?: number;
  syncTimes?: Partial<SyncTimes>;
}

/** One machine: Instance manifests are files in a folder, pods are child processes. */
export class LocalCluster implements Cluster {
  readonly store: Store;
  readonly pods: Pods;
  readonly sync: FolderSync;
  readonly pairings = new Map<string, PairingView>();
  #unlock: () => void = () => undefined;

  constructor(options: LocalClusterOptions) {
    const { folder, log, launch, version, maxConcurrentStarts, graceMs, syncTimes } = options;
    this.store = new Store(folder, log);
    this.sync = new FolderSync(this.store, log, syncTimes);
    const { stateFolder } = this.store;
    this.pods = new Pods({
      stateFolder,
      launch,
      version,
      log,
      maxConcurrentStarts,
      ...(graceMs !== undefined && { graceMs }),
    });
  }

  async start(changed: (key: string) => void): Promise<void> {
    await this.store.prepare();
    this.#unlock = lockFolder(this.store.stateFolder);
    await removeTemporaryFiles(this.store.folder.path);
    await this.store.load();
    await this.pods.load(changed);
    this.store.entries.listen(({ type, resource }) => {
      changed(formatKey(resource.metadata));
      // A manifest of the same name may have waited for this.
      if (type === 'DELETED') this.sync.soon();
    });
    await this.sync.start();
  }

  endPods(): Promise<void> {
    return this.pods.close();
  }

  async stop(): Promise<void> {
    this.sync.stop();
    await this.store.idle();
    this.#unlock();
  }

  keys(): string[] {
    return [...new Set([...this.store.entries.all().map(({ key }) => key), ...this.pods.keys()])];
  }

  resource(key: string): InstanceResource | undefined {
    return this.store.get(key)?.resource;
  }

  pod(key: string): Pod {
    return this.pods.of(key);
  }

  setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    return this.store.setStatus(target, status);
  }

  setFinalizers(target: Target, finalizers: string[]): Promise<void> {
    return this.store.setFinalizers(target, finalizers);
  }

  async deleteResource({ key, uid }: Target): Promise<void> {
    if (this.store.get(key)?.state.uid === uid) await this.store.delete(key, { uid });
  }

  /** Any profile will do: engines here are all started alike, from the version that started their operator. */
  templateFor(resource: InstanceResource): PodTemplate {
    return { ...readEngineChoice(resource), revision: '' };
  }

  newPodName(_: Target, instanceId: string): string {
    return this.pods.newName(instanceId);
  }

  createPod(plan: PodPlan): Promise<void> {
    return this.pods.create(plan);
  }

  deletePod(name: string): Promise<void> {
    return this.pods.delete(name);
  }

  /** Nobody is further away than this machine. */
  forceDeletePod(name: string): Promise<void> {
    return this.pods.delete(name);
  }

  /** In memory alone: the next operator finds the wish, and shows it again. */
  publishPairing({ key }: Target, view: PairingView | null): Promise<void> {
    if (view) this.pairings.set(key, view);
    else this.pairings.delete(key);
    return Promise.resolve();
  }

  tell(target: Target, line: InstanceEvent): void {
    this.store.tell(target, line);
  }

  checks(): Record<string, string | null> {
    return { folder: this.sync.unreadable };
  }
}

import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import type { Logger } from '@gwk/core/log';
import { acquireProcessLock } from '@gwk/core/process-lock';
import { join } from 'node:path';
import type { Cluster, InstanceEvent, Target } from '../cluster.js';
import { removeTemporaryFiles } from './disk.js';
import type { EngineLaunch } from './engine-process.js';
import { Pods } from './pods.js';
import { ManifestStore } from './manifest-store.js';
import { FolderSync, type SyncTimes } from './folder-sync.js';

interface LocalClusterOptions {
  folder: string;
  launch: EngineLaunch;
  /** Version of the engines. */
  version: string;
  log: Logger;
  maxConcurrentStarts: number;
  graceMs?: number;
  syncTimes?: Partial<SyncTimes>;
}

/** The cluster on one machine: Instances are manifest files in a folder, engines are child processes. */
export class LocalCluster implements Cluster {
  readonly store: ManifestStore;
  readonly pods: Pods;
  readonly sync: FolderSync;
  #unlock: () => void = () => undefined;

  constructor(options: LocalClusterOptions) {
    const { folder, log, launch, version, maxConcurrentStarts, graceMs, syncTimes } = options;
    this.store = new ManifestStore(folder, log);
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

  async start(onChange: (key: string) => void): Promise<void> {
    await this.store.prepare();
    const { stateFolder } = this.store;
    // Two operators would start two engines per instance.
    this.#unlock = acquireProcessLock(
      join(stateFolder, 'lock'),
      (pid) =>
        `another operator (pid ${pid}) uses ${stateFolder}; stop it first, or give this one its own folder`,
    ).release;
    await removeTemporaryFiles(this.store.folder.path);
    await this.store.load((key) => {
      onChange(key);
      // A new manifest of the same name may be waiting for the deletion.
      if (!this.store.entry(key)) this.sync.schedule();
    });
    await this.pods.load(onChange);
    await this.sync.start();
  }

  endPods(): Promise<void> {
    return this.pods.close();
  }

  async stop(): Promise<void> {
    this.sync.stop();
    await this.store.close();
    this.#unlock();
  }

  keys(): string[] {
    return [...new Set([...this.store.entries().map(({ key }) => key), ...this.pods.keys()])];
  }

  resource(key: string): InstanceResource | undefined {
    return this.store.entry(key)?.resource;
  }

  setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    this.store.setStatus(target, status);
    return Promise.resolve();
  }

  setFinalizers(target: Target, finalizers: string[]): Promise<void> {
    return this.store.setFinalizers(target, finalizers);
  }

  deleteResource(target: Target): Promise<void> {
    return this.store.deleteResource(target);
  }

  publishPairing({ key }: Target, view: PairingView | null): Promise<void> {
    if (view) this.store.pairings.set(key, view);
    else this.store.pairings.delete(key);
    return Promise.resolve();
  }

  recordEvent(target: Target, event: InstanceEvent): void {
    this.store.recordEvent(target, event);
  }

  checks(): Record<string, string | null> {
    return { folder: this.sync.unreadable };
  }

  countInvalid(): number {
    return this.sync.faults.size;
  }
}

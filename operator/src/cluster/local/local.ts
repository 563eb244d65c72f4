import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import {
  PAIRING_ANNOTATION,
  readPairingRequest,
  type PairingRequest,
  type PairingView,
} from '@gwk/core/resources/pairing-request';
import { acquireProcessLock, LockHeldError } from '@gwk/core/process/process-lock';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, InstanceEvent, Target } from '../cluster.js';
import { removeTemporaryFiles } from './disk.js';
import { Pods, type PodsOptions } from './pods.js';
import { ManifestStore } from './manifest-store.js';
import { FolderSync, type SyncTimes } from './folder-sync.js';

interface LocalClusterOptions extends Omit<PodsOptions, 'stateFolder'> {
  folder: string;
  syncTimes?: Partial<SyncTimes>;
  /** Time for an operator before this one to stop its engines. */
  lockWaitMs?: number;
}

const LOCK_WAIT_MS = 20_000;
const LOCK_RETRY_MS = 50;

/** The cluster on one machine: Instances are manifest files in a folder, engines are child processes. */
export class LocalCluster implements Cluster {
  readonly store: ManifestStore;
  readonly pods: Pods;
  readonly sync: FolderSync;
  readonly #lockWaitMs: number;
  #unlock: () => void = () => undefined;

  constructor({ folder, syncTimes, lockWaitMs = LOCK_WAIT_MS, ...options }: LocalClusterOptions) {
    this.#lockWaitMs = lockWaitMs;
    this.store = new ManifestStore(folder, options.log);
    this.sync = new FolderSync(this.store, options.log, syncTimes);
    this.pods = new Pods({ ...options, stateFolder: this.store.stateFolder });
  }

  async start(onChange: (key: string) => void): Promise<void> {
    await this.store.prepare();
    this.#unlock = await this.#lock();
    await removeTemporaryFiles(this.store.folder.path);
    await this.store.load((key) => {
      onChange(key);
      // A new manifest of the same name may be waiting for the deletion.
      if (!this.store.entry(key)) this.sync.schedule();
    });
    await this.pods.load(onChange);
    await this.sync.start();
  }

  /**
   * Two operators would start two engines per instance. The operator of a killed parent closes its port first, and then waits
   * for its engines.
   */
  async #lock(): Promise<() => void> {
    const { stateFolder } = this.store;
    const end = performance.now() + this.#lockWaitMs;
    for (;;) {
      try {
        return acquireProcessLock(
          join(stateFolder, 'lock'),
          (pid) =>
            `another operator (pid ${pid}) uses ${stateFolder}; stop it first, or give this one its own folder`,
        ).release;
      } catch (error) {
        if (!(error instanceof LockHeldError) || performance.now() > end) throw error;
        await sleep(LOCK_RETRY_MS);
      }
    }
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
    return [...new Set([...this.store.keys(), ...this.pods.keys()])];
  }

  resource(key: string): InstanceResource | undefined {
    return this.store.entry(key)?.resource;
  }

  setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    this.store.setStatus(target, status);
    return Promise.resolve();
  }

  setFinalizer(target: Target, isSet: boolean): Promise<void> {
    return this.store.setFinalizer(target, isSet);
  }

  deleteResource(target: Target): Promise<void> {
    return this.store.deleteResource(target);
  }

  publishPairing({ key }: Target, view: PairingView | null): Promise<void> {
    if (view) this.store.pairings.set(key, view);
    else this.store.pairings.delete(key);
    return Promise.resolve();
  }

  async removePairingRequest({ key, uid }: Target, { id }: PairingRequest): Promise<void> {
    const resource = this.resource(key);
    if (!resource || resource.metadata.uid !== uid) return;
    const annotations = { ...resource.metadata.annotations };
    if (readPairingRequest(annotations)?.id !== id) return;
    delete annotations[PAIRING_ANNOTATION];
    await this.store.change({ ...resource, metadata: { ...resource.metadata, annotations } });
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

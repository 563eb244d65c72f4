import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import {
  PAIRING_ANNOTATION,
  readPairingRequest,
  type PairingRequest,
  type PairingView,
} from '@gwk/core/resources/pairing-request';
import { acquireProcessLock, LockHeldError } from '@gwk/core/process/process-lock';
import type { Logger } from '@gwk/core/process/log';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, InstanceEvent, Target } from '../cluster.js';
import { InstanceStore, revise } from './instance-store.js';
import { Pods, type PodsOptions } from './pods.js';
import { StateFile } from './state-file.js';

interface LocalClusterOptions extends Omit<PodsOptions, 'file'> {
  folder: string;
  /** Time for an operator before this one to stop its engines. */
  lockWaitMs?: number;
}

const LOCK_WAIT_MS = 20_000;
const LOCK_RETRY_MS = 50;

/** The cluster on one machine: Instances are entries of a file, engines are child processes. */
export class LocalCluster implements Cluster {
  readonly folder: string;
  readonly store: InstanceStore;
  readonly pods: Pods;
  readonly #file: StateFile;
  readonly #log: Logger;
  readonly #lockWaitMs: number;
  #unlock: () => void = () => undefined;

  constructor({ folder, lockWaitMs = LOCK_WAIT_MS, ...options }: LocalClusterOptions) {
    this.folder = folder;
    this.#lockWaitMs = lockWaitMs;
    this.#log = options.log;
    this.#file = new StateFile(join(folder, 'instances.json'));
    this.store = new InstanceStore(this.#file);
    this.pods = new Pods({ ...options, file: this.#file });
  }

  async start(onChange: (key: string) => void): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    this.#unlock = await this.#lock();
    await this.#file.load(onChange);
    for (const key of this.store.keys()) onChange(key);
    await this.pods.load(onChange);
  }

  /**
   * Two operators would start two engines per instance. The operator of a killed parent closes its port first, and then waits
   * for its engines.
   */
  async #lock(): Promise<() => void> {
    const end = performance.now() + this.#lockWaitMs;
    for (;;) {
      try {
        return acquireProcessLock(
          join(this.folder, 'instances.lock'),
          (pid) =>
            `another operator (pid ${pid}) uses ${this.folder}; stop it first, or give this one its own folder`,
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
    await this.#file.close();
    this.#unlock();
  }

  keys(): string[] {
    return [...new Set([...this.store.keys(), ...this.pods.keys()])];
  }

  resource(key: string): InstanceResource | undefined {
    return this.store.get(key);
  }

  setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    return this.store.setStatus(target, status);
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

  removePairingRequest(target: Target, { id }: PairingRequest): Promise<void> {
    return this.store.edit(target, (present) => {
      const annotations = { ...present.metadata.annotations };
      if (readPairingRequest(annotations)?.id !== id) return present;
      delete annotations[PAIRING_ANNOTATION];
      return revise(present, { annotations });
    });
  }

  /** Kubernetes keeps events as objects. Here they are lines of the operator's log. */
  recordEvent({ key }: Target, { type, reason, message }: InstanceEvent): void {
    this.#log[type === 'Warning' ? 'warn' : 'info']({ instance: key, reason }, message);
  }

  checks(): Record<string, string | null> {
    return { instances: this.#file.fault };
  }

  /** The file contains what this operator has validated. */
  countInvalid(): number {
    return 0;
  }
}

import { type Logger } from '@gwk/core/process/log';
import { randomBytes } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { readEngineChoice } from '../../controller/decide.js';
import {
  PodExists,
  type EndedPod,
  type LivePod,
  type Pod,
  type PodPlan,
  type PodStore,
  type PodTemplate,
  type Target,
} from '../cluster.js';
import { launchEngine, type EngineLaunch, type EngineProcess, type PodRecord } from './engine-process.js';
import { findProcess, isAlive } from './processes.js';
import type { StateFile } from './state-file.js';

export interface PodsOptions {
  /** Keeps the records. */
  file: StateFile;
  launch: EngineLaunch;
  version: string;
  log: Logger;
  /** Engines that start at the same time. */
  maxConcurrentStarts: number;
  /** Time between SIGTERM and SIGKILL. */
  graceMs?: number | undefined;
}

const GRACE_MS = 15_000;
const ORPHAN_POLL_MS = 100;
/** An orphan exits by itself when its input closes. One that does not gets SIGTERM after this time. */
const ORPHAN_EXIT_MS = 5000;

interface Slot {
  record: PodRecord;
  phase: LivePod['phase'] | 'ended';
  requested: boolean;
  end: Pick<EndedPod, 'endedAt' | 'how'> | null;
  engine: EngineProcess | null;
  timers: NodeJS.Timeout[];
}

/**
 * Pods as child processes. The map of slots is the mutex: a slot is taken before anything of a pod exists. It is
 * released after the process has exited, its exit was reported and its record was removed. A slot belongs to a key
 * and to an instance, and both must be free.
 *
 *   starting ──> running ──> ending ──> ended ──delete──> (no slot)
 *        └───────────┴──(by itself)───────┘
 *
 * After a crash of the operator, the records show its pods. A process that still runs is `ending` until it exits,
 * because its input has closed. The others are `ended`.
 */
export class Pods implements PodStore {
  readonly #options: PodsOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #starts: LimitFunction;
  #changed: (key: string) => void = () => undefined;
  #closing = false;

  constructor(options: PodsOptions) {
    this.#options = options;
    this.#starts = pLimit(options.maxConcurrentStarts);
  }

  async load(changed: (key: string) => void): Promise<void> {
    this.#changed = changed;
    for (const record of this.#options.file.state.pods.values()) {
      const pid = await findProcess(record.name);
      const slot = this.#addSlot(record, pid === null ? 'ended' : 'ending');
      slot.requested = true;
      if (pid !== null) this.#awaitOrphan(slot, pid);
      else slot.end = { endedAt: Date.now(), how: 'its operator exited' };
    }
  }

  keys(): string[] {
    return [...this.#slots.values()].map(({ record }) => record.key);
  }

  find(key: string): Pod {
    const slot = [...this.#slots.values()].find(({ record }) => record.key === key);
    return slot ? buildPod(slot) : { phase: 'absent' };
  }

  /** Ignores the profile: local engines all start the same way, from the operator's own version. */
  templateFor(resource: InstanceResource): PodTemplate {
    return { ...readEngineChoice(resource), revision: '' };
  }

  newName(_: Target, instanceId: string): string {
    return `ins-${instanceId.replaceAll('-', '')}-${randomBytes(5).toString('hex')}`;
  }

  /** A process needs no permission. */
  check(): Promise<void> {
    return Promise.resolve();
  }

  /** @throws PodExists */
  async create(plan: PodPlan): Promise<void> {
    if (this.#closing) throw new Error('the cluster is stopping');
    const { token, ...identity } = plan;
    for (const { record } of this.#slots.values()) {
      if (record.key === plan.key || record.instanceId === plan.instanceId) throw new PodExists(record.name);
    }
    const record = { ...identity, version: this.#options.version, startedAt: Date.now() };
    const slot = this.#addSlot(record, 'starting');
    try {
      await this.#options.file.update(({ pods }) => pods.set(record.name, record));
    } catch (error) {
      this.#slots.delete(record.name);
      throw error;
    }
    this.#changed(record.key);
    this.#starts(() => this.#start(slot, token)).catch((error: unknown) =>
      this.#setEnded(slot, `it could not start: ${(error as Error).message}`),
    );
  }

  /** Asks the pod to end; forgets a pod that has ended. */
  async delete(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (!slot) return;
    if (slot.phase !== 'ended') return this.#requestEnd(slot);
    await this.#options.file.update(({ pods }) => pods.delete(name));
    this.#slots.delete(name);
    this.#changed(slot.record.key);
  }

  /** An engine starts with its credentials. */
  verify(): Promise<void> {
    return Promise.resolve();
  }

  /** All pods run on this machine, so nothing needs force. */
  forceDelete(name: string): Promise<void> {
    return this.delete(name);
  }

  /** Stops all pods and waits for them. */
  async close(): Promise<void> {
    this.#closing = true;
    const slots = [...this.#slots.values()];
    for (const slot of slots) this.#requestEnd(slot);
    await Promise.all(slots.map((slot) => slot.engine?.ended ?? Promise.resolve('')));
    for (const slot of slots) for (const timer of slot.timers) clearTimeout(timer);
  }

  #addSlot(record: PodRecord, phase: Slot['phase']): Slot {
    const slot: Slot = { record, phase, requested: false, end: null, engine: null, timers: [] };
    this.#slots.set(record.name, slot);
    return slot;
  }

  /** Resolves once another engine may start. */
  async #start(slot: Slot, token: string): Promise<void> {
    if (slot.requested) return;
    const { launch, log } = this.#options;
    slot.record.startedAt = Date.now();
    const engine = launchEngine(launch, slot.record, token, log);
    slot.engine = engine;
    void engine.ended.then((how) => this.#setEnded(slot, how));
    await engine.ready;
    if (slot.phase === 'starting') this.#setPhase(slot, 'running');
  }

  #requestEnd(slot: Slot): void {
    if (slot.phase === 'ended' || slot.requested) return;
    slot.requested = true;
    const { engine } = slot;
    if (!engine) return this.#setEnded(slot, 'it was stopped before it started');
    this.#setPhase(slot, 'ending');
    engine.signal('SIGTERM');
    const grace = this.#options.graceMs ?? GRACE_MS;
    slot.timers.push(setTimeout(() => engine.signal('SIGKILL'), grace));
  }

  #setEnded(slot: Slot, how: string): void {
    for (const timer of slot.timers.splice(0)) clearTimeout(timer);
    slot.end = { endedAt: Date.now(), how };
    this.#setPhase(slot, 'ended');
  }

  #setPhase(slot: Slot, phase: Slot['phase']): void {
    slot.phase = phase;
    this.#changed(slot.record.key);
  }

  #awaitOrphan(slot: Slot, pid: number): void {
    const { name } = slot.record;
    const signal = (kind: NodeJS.Signals) =>
      void isAlive(pid, name)
        .then((alive) => alive && process.kill(pid, kind))
        // The check failed, or the process has just exited.
        .catch(() => undefined);
    const grace = this.#options.graceMs ?? GRACE_MS;
    slot.timers.push(setTimeout(() => signal('SIGTERM'), Math.min(ORPHAN_EXIT_MS, grace / 2)));
    slot.timers.push(setTimeout(() => signal('SIGKILL'), grace));
    const poll = async (): Promise<void> => {
      // If the check fails, assume that the process runs.
      if (!(await isAlive(pid, name).catch(() => true))) return this.#setEnded(slot, 'its operator exited');
      slot.timers.push(setTimeout(() => void poll(), ORPHAN_POLL_MS));
    };
    void poll();
  }
}

function buildPod({ record, phase, requested, end }: Slot): Pod {
  const identity = { ...record, shownAs: record.name, node: null };
  if (phase === 'ended') return { ...identity, phase, requested, ...end! };
  return { ...identity, phase, waiting: null, endingSince: null };
}

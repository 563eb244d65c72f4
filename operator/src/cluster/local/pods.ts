import { type Logger } from '@gwk/core/log';
import { randomBytes } from 'node:crypto';
import { PodExists, type EndedPod, type LivePod, type Pod, type PodPlan } from '../cluster.js';
import { launchEngine, type EngineLaunch, type EngineProcess } from './engine-process.js';
import { PodRecords, type PodRecord } from './pod-records.js';
import { findProcessByName, isAlive, type ProcessIdentity } from './processes.js';
import { ConcurrencyLimiter } from './concurrency-limiter.js';

export interface PodsOptions {
  stateFolder: string;
  launch: EngineLaunch;
  version: string;
  log: Logger;
  /** Engines that start at the same moment. */
  maxConcurrentStarts: number;
  /** Between asking a process to end and killing it. */
  graceMs?: number;
}

const GRACE_MS = 15_000;
const ORPHAN_POLL_MS = 100;
/** An orphan leaves by itself when its input closes; only one that does not is asked. */
const ORPHAN_LEAVES_MS = 5000;

interface Slot {
  record: PodRecord;
  phase: LivePod['phase'] | 'ended';
  asked: boolean;
  end: Pick<EndedPod, 'endedAt' | 'how'> | null;
  engine: EngineProcess | null;
  timers: NodeJS.Timeout[];
}

/**
 * Pods as child processes. The map of slots is the mutex: a slot is taken before anything of a pod exists, and given
 * back only after its process was seen to end, its end was reported and its record removed. A slot belongs to a key
 * and to an instance; both must be free.
 *
 *   starting ──> running ──> ending ──> ended ──deletePod──> (no slot)
 *        └───────────┴──(by itself)───────┘
 *
 * What an operator that was killed left behind is found in the records: processes that still run are `ending`
 * (their input has closed) until they are gone, the others are `ended`.
 */
export class Pods {
  readonly #options: PodsOptions;
  readonly #records: PodRecords;
  readonly #log: Logger;
  readonly #slots = new Map<string, Slot>();
  readonly #starts: ConcurrencyLimiter;
  #changed: (key: string) => void = () => undefined;
  #closing = false;

  constructor(options: PodsOptions) {
    this.#options = options;
    this.#records = new PodRecords(options.stateFolder);
    this.#log = options.log;
    this.#starts = new ConcurrencyLimiter(options.maxConcurrentStarts);
  }

  get count(): number {
    return this.#slots.size;
  }

  async load(changed: (key: string) => void): Promise<void> {
    this.#changed = changed;
    for (const record of await this.#records.load()) {
      const process = record.process ?? (await findProcessByName(record.name));
      const alive = process !== null && (await isAlive(process));
      const slot = this.#take({ ...record, process }, alive ? 'ending' : 'ended');
      slot.asked = true;
      if (alive) this.#awaitOrphan(slot, process);
      else slot.end = { endedAt: Date.now(), how: 'its operator went' };
    }
  }

  keys(): string[] {
    return [...this.#slots.values()].map(({ record }) => record.key);
  }

  of(key: string): Pod {
    const slot = [...this.#slots.values()].find(({ record }) => record.key === key);
    return slot ? buildPod(slot) : { phase: 'absent' };
  }

  newName(instanceId: string): string {
    return `ins-${instanceId.replaceAll('-', '')}-${randomBytes(5).toString('hex')}`;
  }

  /** @throws PodExists */
  async create(plan: PodPlan): Promise<void> {
    if (this.#closing) throw new Error('the cluster is stopping');
    const { token, ...identity } = plan;
    for (const { record } of this.#slots.values()) {
      if (record.key === plan.key || record.instanceId === plan.instanceId) throw new PodExists(record.name);
    }
    const record = { ...identity, version: this.#options.version, startedAt: Date.now(), process: null };
    const slot = this.#take(record, 'starting');
    try {
      await this.#records.save(record);
    } catch (error) {
      this.#slots.delete(record.name);
      throw error;
    }
    this.#changed(record.key);
    void this.#start(slot, token);
  }

  /** Asks; what has ended is forgotten. */
  async delete(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (!slot) return;
    if (slot.phase !== 'ended') return this.#askToEnd(slot);
    await this.#records.remove(name);
    this.#slots.delete(name);
    this.#changed(slot.record.key);
  }

  /** Ends all, and waits for the last. */
  async close(): Promise<void> {
    this.#closing = true;
    const slots = [...this.#slots.values()];
    for (const slot of slots) this.#askToEnd(slot);
    await Promise.all(slots.map((slot) => slot.engine?.ended ?? Promise.resolve('')));
    for (const slot of slots) for (const timer of slot.timers) clearTimeout(timer);
  }

  #take(record: PodRecord, phase: Slot['phase']): Slot {
    const slot: Slot = { record, phase, asked: false, end: null, engine: null, timers: [] };
    this.#slots.set(record.name, slot);
    return slot;
  }

  async #start(slot: Slot, token: string): Promise<void> {
    const release = await this.#starts.take();
    if (slot.asked) return release();
    slot.record.startedAt = Date.now();
    const engine = this.#launch(slot, token);
    if (!engine) return release();
    slot.engine = engine;
    void engine.ready.then(() => {
      release();
      if (slot.phase === 'starting') this.#move(slot, 'running');
    });
    void engine.ended.then((how) => this.#ended(slot, how));
    await this.#writeDown(slot, engine);
  }

  /** Null: this machine has no room for another process. */
  #launch(slot: Slot, token: string): EngineProcess | null {
    try {
      return launchEngine(this.#options.launch, slot.record, token, this.#log);
    } catch (error) {
      this.#ended(slot, `it could not be started: ${(error as Error).message}`);
      return null;
    }
  }

  /**
   * Without its pid in the record an operator started anew finds the process by its name, so a failure here costs
   * nothing but that search.
   */
  async #writeDown(slot: Slot, engine: EngineProcess): Promise<void> {
    try {
      const process = await engine.processName();
      if (process === null || slot.phase === 'ended') return;
      slot.record.process = process;
      await this.#records.save(slot.record);
      // Ended and forgotten while it was written: no record may outlive its slot.
      if (!this.#slots.has(slot.record.name)) await this.#records.remove(slot.record.name);
    } catch (error) {
      this.#log.warn({ pod: slot.record.name, err: error }, 'the pid of an engine could not be written down');
    }
  }

  #askToEnd(slot: Slot): void {
    if (slot.phase === 'ended' || slot.asked) return;
    slot.asked = true;
    const { engine } = slot;
    if (!engine) return this.#ended(slot, 'it was stopped before it started');
    this.#move(slot, 'ending');
    engine.signal('SIGTERM');
    const grace = this.#options.graceMs ?? GRACE_MS;
    slot.timers.push(setTimeout(() => engine.signal('SIGKILL'), grace));
  }

  #ended(slot: Slot, how: string): void {
    for (const timer of slot.timers.splice(0)) clearTimeout(timer);
    slot.end = { endedAt: Date.now(), how };
    this.#move(slot, 'ended');
  }

  #move(slot: Slot, phase: Slot['phase']): void {
    slot.phase = phase;
    this.#changed(slot.record.key);
  }

  #awaitOrphan(slot: Slot, name: ProcessIdentity): void {
    const signal = (kind: NodeJS.Signals) => void this.#signalOrphan(name, kind);
    const grace = this.#options.graceMs ?? GRACE_MS;
    slot.timers.push(setTimeout(() => signal('SIGTERM'), Math.min(ORPHAN_LEAVES_MS, grace / 2)));
    slot.timers.push(setTimeout(() => signal('SIGKILL'), grace));
    const look = async (): Promise<void> => {
      // An unanswered question is no answer: the process counts as there.
      if (!(await isAlive(name).catch(() => true))) return this.#ended(slot, 'its operator went');
      slot.timers.push(setTimeout(() => void look(), ORPHAN_POLL_MS));
    };
    void look();
  }

  async #signalOrphan(name: ProcessIdentity, kind: NodeJS.Signals): Promise<void> {
    if (!(await isAlive(name).catch(() => false))) return;
    try {
      process.kill(name.pid, kind);
    } catch {
      // It ended this moment.
    }
  }
}

function buildPod({ record, phase, asked, end }: Slot): Pod {
  const { name, key, uid, instanceId, version, template, startedAt } = record;
  const identity = { name, shownAs: name, node: null, key, uid, instanceId, version, template, startedAt };
  if (phase === 'ended') return { ...identity, phase, asked, ...end! };
  return { ...identity, phase, trouble: null, endingSince: null };
}

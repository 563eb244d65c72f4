import { PAUSE_UPGRADE_ANNOTATION } from '@gwk/core/resources/manifest';
import type { Decision, EngineReason } from './decide.js';
import { getKnownInstance, holdsLease, type HoldReason, type Observed, type Turn } from './observed.js';

type Progress = 'moving' | 'works' | 'connected' | 'settled';

interface Replacement {
  granted: boolean;
  mustConnect: boolean;
  since: number;
}

const TIMEOUT_MS = 300_000;

/**
 * Limits how many working engines an upgrade replaces at a time.
 *
 *   (waiting) ──request──> moving ──its new engine works──> (settled)
 *
 * A key is `moving` while its instance wants an engine and that engine does not work yet, for any reason: a first
 * start or a crash of the new version too. A new leader therefore rebuilds this state from what it observes. It
 * grants nothing before it has reconciled every instance once.
 *
 * A version that does not work keeps its turns. At most `limit` instances go offline, and the upgrade pauses until
 * somebody fixes the version (metric gwk_operator_rollout). An instance that was broken before must not block the
 * others, so a replacement without a granted turn counts for TIMEOUT_MS only.
 */
export class Rollout {
  readonly #limit: number;
  readonly #canary: string | null;
  readonly #moving = new Map<string, Replacement>();
  readonly #waiting = new Set<string>();
  #open = false;
  #canaryWorks = false;

  /**
   * @param limit 0: the upgrade is paused
   * @param canary key of the instance that must be connected on the current version before any other is replaced
   */
  constructor(limit: number, canary: string | null = null) {
    this.#limit = limit;
    this.#canary = canary;
  }

  get moving(): number {
    return this.#moving.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Call after every instance was reconciled once. @returns keys that may request again */
  open(): string[] {
    this.#open = true;
    return this.#next();
  }

  /** Whether a working engine may be replaced now. `connected`: its turn ends when it is connected again. */
  request(key: string, connected: boolean): boolean {
    if (this.#moving.get(key)?.granted) return true;
    if (!this.#open || this.#free() <= 0 || this.#waitsForCanary(key)) {
      this.#waiting.add(key);
      return false;
    }
    this.#waiting.delete(key);
    this.#moving.set(key, { granted: true, mustConnect: connected, since: Date.now() });
    return true;
  }

  /** Gives back a turn, or the place in the queue, whose engine stays as it is. @returns keys that may request again */
  release(key: string): string[] {
    this.#waiting.delete(key);
    return this.#moving.delete(key) ? this.#next() : [];
  }

  /** Why `request` did not grant the key a turn. */
  describeWait(key: string): { reason: HoldReason; message: string } {
    if (this.#limit === 0) return { reason: 'UpgradePaused', message: 'Upgrades of engines are paused' };
    if (this.#waitsForCanary(key)) {
      const message = `Waiting until ${this.#canary} is connected on the current version`;
      return { reason: 'WaitingForCanary', message };
    }
    return {
      reason: 'WaitingForTurn',
      message: `Waiting until others are replaced, ${this.#limit} at a time`,
    };
  }

  /** Records whether the instance is connected on the current version. @returns keys that may request again */
  observeCanary(key: string, works: boolean): string[] {
    if (key !== this.#canary || works === this.#canaryWorks) return [];
    this.#canaryWorks = works;
    return works ? this.#next() : [];
  }

  #waitsForCanary(key: string): boolean {
    return this.#canary !== null && key !== this.#canary && !this.#canaryWorks;
  }

  /** Records the state that a reconcile observed. @returns keys that may request again */
  report(key: string, progress: Progress): string[] {
    const before = this.#moving.get(key);
    if (progress === 'moving') {
      this.#waiting.delete(key);
      if (!before) this.#moving.set(key, { granted: false, mustConnect: false, since: Date.now() });
      return [];
    }
    if (progress === 'settled') this.#waiting.delete(key);
    if (!before || (progress === 'works' && before.mustConnect)) return [];
    this.#moving.delete(key);
    return this.#next();
  }

  #free(): number {
    const since = Date.now() - TIMEOUT_MS;
    const counted = [...this.#moving.values()].filter((one) => one.granted || one.since > since);
    return this.#limit - counted.length;
  }

  #next(): string[] {
    if (!this.#open) return [];
    const may = [...this.#waiting].filter((key) => !this.#waitsForCanary(key));
    return may.slice(0, Math.max(0, this.#free()));
  }
}

export const isConnected = ({ projection }: Observed): boolean =>
  getKnownInstance(projection)?.facts.state === 'connected';

/** The owner of the instance keeps its engine at its version. */
export const isPaused = ({ resource }: Observed): boolean =>
  resource?.metadata.annotations?.[PAUSE_UPGRADE_ANNOTATION] === 'true';

export const PAUSED: Turn & { granted: false } = {
  granted: false,
  reason: 'UpgradePaused',
  message: `Annotation ${PAUSE_UPGRADE_ANNOTATION} is set`,
};

const MOVING_REASONS: readonly EngineReason[] = [
  'EngineExited',
  'EngineStopping',
  'EngineOutdated',
  'EngineUnresponsive',
  'EngineStarting',
  'CrashLoop',
  'WaitingToRestart',
  'EngineAbsent',
  'EngineNotCreated',
  'ImagePullFailed',
  'Unschedulable',
  'ContainerNotStarted',
];

/** State of this instance for the rollout. */
export function describeProgress(observed: Observed, { reason }: Decision): Progress {
  if (reason === 'EngineRunning' && holdsLease(observed.pod, observed.projection))
    return isConnected(observed) ? 'connected' : 'works';
  // An engine that exited on the old version restarts on the current one.
  return wantsEngine(observed) && MOVING_REASONS.includes(reason) ? 'moving' : 'settled';
}

const wantsEngine = ({ resource }: Observed): boolean =>
  resource !== null && resource.metadata.deletionTimestamp === undefined && !resource.spec.suspended;

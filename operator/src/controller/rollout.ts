import type { Decision, EngineReason } from './decide.js';
import { getKnownInstance, holdsLease, type Observed } from './observed.js';

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
  readonly #moving = new Map<string, Replacement>();
  readonly #waiting = new Set<string>();
  #open = false;

  constructor(limit: number) {
    this.#limit = limit;
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
    if (!this.#open || this.#free() <= 0) {
      this.#waiting.add(key);
      return false;
    }
    this.#waiting.delete(key);
    this.#moving.set(key, { granted: true, mustConnect: connected, since: Date.now() });
    return true;
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
    return [...this.#waiting].slice(0, Math.max(0, this.#free()));
  }
}

export const isConnected = ({ projection }: Observed): boolean =>
  getKnownInstance(projection)?.facts.state === 'connected';

const MOVING_REASONS: readonly EngineReason[] = [
  'EngineExited',
  'EngineStopping',
  'EngineOutdated',
  'EngineUnresponsive',
  'EngineStarting',
  'CrashLoop',
  'WaitingToRestart',
  'EngineAbsent',
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

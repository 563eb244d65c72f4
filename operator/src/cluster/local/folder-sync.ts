import { type Logger } from '@gwk/core/log';
import { formatKey } from '../cluster.js';
import type { Entry } from './entries.js';
import type { ManifestFile } from './manifest-folder.js';
import type { Manifest } from './manifest-file.js';
import type { Store } from './store.js';

interface Candidate {
  manifest: Manifest;
  file: ManifestFile;
}

export interface SyncTimes {
  /** Interval of reads without a notification. */
  relistMs: number;
  /** Delay before a missing manifest deletes its instance, because editors replace a file by removing it first. */
  missingMs: number;
  /** Clock for `missingMs`. */
  now: () => number;
}

const TIMES: SyncTimes = { relistMs: 5000, missingMs: 2000, now: Date.now };
const SETTLE_MS = 120;

/** Imports changes of the folder: new, changed, removed and invalid files. */
export class FolderSync {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #times: SyncTimes;
  readonly #missingSince = new Map<string, number>();
  /** By file; logged once until it changes. */
  #faults = new Map<string, string>();
  #unreadable: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #stopped = false;

  constructor(store: Store, log: Logger, times: Partial<SyncTimes> = {}) {
    this.#store = store;
    this.#log = log;
    this.#times = { ...TIMES, ...times };
  }

  /** Invalid files, with the reason. */
  get faults(): ReadonlyMap<string, string> {
    return this.#faults;
  }

  get unreadable(): string | null {
    return this.#unreadable;
  }

  async start(): Promise<void> {
    this.#store.folder.startWatching(() => this.schedule());
    await this.syncNow();
  }

  stop(): void {
    this.#stopped = true;
    this.#store.folder.stopWatching();
    clearTimeout(this.#timer);
  }

  schedule(ms = SETTLE_MS): void {
    const due = Date.now() + ms;
    if (this.#stopped || due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => void this.syncNow(), ms);
  }

  async syncNow(): Promise<void> {
    this.#due = Infinity;
    clearTimeout(this.#timer);
    const delayMs = await this.#store
      .runExclusive(() => this.#sync())
      .catch((error: unknown) => this.#failed(error));
    this.schedule(delayMs);
  }

  /** The folder is unreadable, so its last known content stays in force. */
  #failed(error: unknown): number {
    const why = (error as Error).message;
    if (this.#unreadable !== why) this.#log.error({ err: error }, 'manifest folder not readable');
    this.#unreadable = why;
    return this.#times.relistMs;
  }

  async #sync(): Promise<number> {
    await this.#finishRemovals();
    const files = await this.#store.folder.read();
    this.#unreadable = null;
    const faults = new Map<string, string>();
    for (const { path, fault } of files.values()) if (fault !== null) faults.set(path, fault);
    const candidates = this.#findCandidates(files, faults);
    for (const candidate of candidates.values()) await this.#importCandidate(candidate, faults);
    const missing = await this.#deleteMissing(candidates, files);
    this.#report(faults);
    const settling = [...files.values()].some((file) => file.settling);
    if (settling) return SETTLE_MS;
    return missing ? this.#times.missingMs / 4 : this.#times.relistMs;
  }

  /** Completes deletions that a crash or an unwritable folder interrupted. */
  async #finishRemovals(): Promise<void> {
    for (const { key, state } of this.#store.entries.all()) {
      if (state.deletionTimestamp !== undefined) await this.#store.finishRemoval({ key, uid: state.uid });
    }
  }

  /** One manifest per key. The file that had it keeps it, else the first by name wins. */
  #findCandidates(
    files: ReadonlyMap<string, ManifestFile>,
    faults: Map<string, string>,
  ): Map<string, Candidate> {
    const candidates = new Map<string, Candidate>();
    for (const file of files.values()) {
      for (const manifest of file.manifests) {
        const key = formatKey(manifest);
        const other = candidates.get(key);
        const keeps = this.#store.get(key)?.state.source?.file === file.path;
        if (!other || keeps) candidates.set(key, { manifest, file });
        const loser = other && (keeps ? other.file : file).path;
        const winner = other && (keeps ? file : other.file).path;
        if (loser !== undefined) faults.set(loser, `${key} is already defined in ${winner}`);
      }
    }
    return candidates;
  }

  async #importCandidate({ manifest, file }: Candidate, faults: Map<string, string>): Promise<void> {
    const key = formatKey(manifest);
    const entry = this.#store.get(key);
    // A manifest with this name already waits for the deletion to complete.
    if (entry?.state.deletionTimestamp !== undefined) return;
    if (file.fault !== null || file.settling) return;
    try {
      await this.#store.importManifest(manifest, file.path);
    } catch (error) {
      faults.set(file.path, (error as Error).message);
    }
  }

  /** True while a manifest is missing for less than `missingMs`. */
  async #deleteMissing(
    candidates: Map<string, Candidate>,
    files: ReadonlyMap<string, ManifestFile>,
  ): Promise<boolean> {
    const absent = this.#store.entries.all().filter((entry) => isMissing(entry, candidates, files));
    const keys = new Set(absent.map(({ key }) => key));
    for (const key of [...this.#missingSince.keys()]) if (!keys.has(key)) this.#missingSince.delete(key);
    const now = this.#times.now();
    for (const { key } of absent) {
      const since = this.#missingSince.get(key) ?? now;
      this.#missingSince.set(key, since);
      if (now - since < this.#times.missingMs) continue;
      this.#missingSince.delete(key);
      this.#log.info({ instance: key }, 'manifest removed; deleting the instance');
      this.#deleteLater(key);
    }
    return this.#missingSince.size > 0;
  }

  /** In the background, because deleting needs the lock held here. */
  #deleteLater(key: string): void {
    this.#store.deleteIfManifestGone(key).catch((error: unknown) => {
      this.#log.warn({ instance: key, err: error }, 'deletion failed; retrying');
    });
  }

  #report(faults: Map<string, string>): void {
    for (const [file, fault] of faults) {
      if (this.#faults.get(file) === fault) continue;
      this.#log.warn({ file, fault }, 'manifest file invalid; its previous content stays in force');
      this.#recordFault(file, fault);
    }
    this.#faults = faults;
  }

  #recordFault(file: string, fault: string): void {
    for (const { key, state } of this.#store.entries.all()) {
      if (state.source?.file !== file) continue;
      const message = `${file}: ${fault}`;
      this.#store.recordEvent(
        { key, uid: state.uid },
        { type: 'Warning', reason: 'InvalidManifest', message },
      );
    }
  }
}

/** Its file no longer contains it, or is gone. */
function isMissing(
  entry: Entry,
  candidates: Map<string, Candidate>,
  files: ReadonlyMap<string, ManifestFile>,
): boolean {
  const { state, key } = entry;
  if (state.deletionTimestamp !== undefined || state.source === null || candidates.has(key)) return false;
  const file = files.get(state.source.file);
  return !file || (file.fault === null && !file.settling);
}

import { type Logger } from '@gwk/core/process/log';
import { formatKey } from '../cluster.js';
import type { FileManifest } from './manifest-file.js';
import type { ManifestFile } from './manifest-folder.js';
import { getTarget, isDeleting, type ManifestStore } from './manifest-store.js';

interface Candidate {
  manifest: FileManifest;
  file: ManifestFile;
}

export interface SyncTimes {
  /** Interval of reads without a notification. */
  relistMs: number;
  /** Clock for MISSING_MS. */
  now: () => number;
}

const TIMES: SyncTimes = { relistMs: 5000, now: Date.now };
/** Delay before a missing manifest deletes its instance, because editors replace a file by removing it first. */
const MISSING_MS = 2000;
const SETTLE_MS = 120;

/** Imports changes of the folder: new, changed, removed and invalid files. */
export class FolderSync {
  readonly #store: ManifestStore;
  readonly #log: Logger;
  readonly #times: SyncTimes;
  readonly #missingSince = new Map<string, number>();
  /** Why a file is invalid; logged once until it changes. */
  faults: ReadonlyMap<string, string> = new Map();
  /** Why the folder is unreadable. */
  unreadable: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #stopped = false;

  constructor(store: ManifestStore, log: Logger, times: Partial<SyncTimes> = {}) {
    this.#store = store;
    this.#log = log;
    this.#times = { ...TIMES, ...times };
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
    if (this.unreadable !== why) this.#log.error({ err: error }, 'manifest folder not readable');
    this.unreadable = why;
    return this.#times.relistMs;
  }

  async #sync(): Promise<number> {
    await this.#finishDeletions();
    const files = await this.#store.folder.read();
    this.unreadable = null;
    const invalid = [...files.values()].filter(({ fault }) => fault !== null);
    const faults = new Map(invalid.map(({ path, fault }) => [path, fault!]));
    const candidates = this.#findCandidates(files, faults);
    for (const [key, { manifest, file }] of candidates) {
      // A manifest of a resource being deleted waits for the deletion to complete.
      if (isDeleting(this.#store.entry(key))) continue;
      await this.#store.importManifest(manifest, file.path).catch((error: unknown) => {
        faults.set(file.path, (error as Error).message);
      });
    }
    await this.#deleteMissing(candidates, files);
    this.#report(faults);
    if (this.#store.folder.settling) return SETTLE_MS;
    return this.#missingSince.size > 0 ? MISSING_MS / 4 : this.#times.relistMs;
  }

  /** Completes deletions that a crash or an unwritable folder interrupted. */
  async #finishDeletions(): Promise<void> {
    for (const entry of this.#store.entries()) if (isDeleting(entry)) await this.#store.deleteWithin(entry);
  }

  /** One manifest per key. The file that had it keeps it, also while it is invalid; else the first by name wins. */
  #findCandidates(
    files: ReadonlyMap<string, ManifestFile>,
    faults: Map<string, string>,
  ): Map<string, Candidate> {
    const all = [...files.values()].flatMap((file) => file.manifests.map((manifest) => ({ manifest, file })));
    const candidates = new Map<string, Candidate>();
    for (const [key, found] of Map.groupBy(all, ({ manifest }) => formatKey(manifest.metadata))) {
      const owner = files.get(this.#store.entry(key)?.file ?? '');
      const first = owner?.fault ? undefined : found[0];
      const winner = found.find(({ file }) => file === owner) ?? first;
      if (winner) candidates.set(key, winner);
      for (const { file } of found.filter((one) => one !== winner))
        faults.set(file.path, `${key} is already defined in ${(winner?.file ?? owner!).path}`);
    }
    return candidates;
  }

  /** Deletes instances whose manifest has been missing for 2 s. */
  async #deleteMissing(
    candidates: Map<string, Candidate>,
    files: ReadonlyMap<string, ManifestFile>,
  ): Promise<void> {
    const now = this.#times.now();
    for (const entry of this.#store.entries()) {
      const key = formatKey(entry.resource.metadata);
      const isMissing = entry.file !== null && !isDeleting(entry) && !candidates.has(key);
      const since = this.#missingSince.get(key) ?? now;
      this.#missingSince.delete(key);
      if (!isMissing || (files.get(entry.file!)?.fault ?? null) !== null) continue;
      if (now - since < MISSING_MS) {
        this.#missingSince.set(key, since);
        continue;
      }
      this.#log.info({ instance: key }, 'manifest removed; deleting the instance');
      await this.#store.deleteWithin(entry).catch((error: unknown) => {
        this.#log.warn({ instance: key, err: error }, 'deletion failed; retrying');
      });
    }
  }

  #report(faults: Map<string, string>): void {
    for (const [file, fault] of faults) {
      if (this.faults.get(file) === fault) continue;
      this.#log.warn({ file, fault }, 'manifest file invalid; its previous content stays in force');
      const event = { type: 'Warning', reason: 'InvalidManifest', message: `${file}: ${fault}` } as const;
      for (const entry of this.#store.entries())
        if (entry.file === file) this.#store.recordEvent(getTarget(entry), event);
    }
    this.faults = faults;
  }
}

import { type Logger } from '@gwk/core/log';
import { formatKey } from '../cluster.js';
import type { Entry } from './entries.js';
import type { ManifestFile } from './manifest-folder.js';
import type { Manifest } from './manifest-file.js';
import type { Store } from './store.js';

interface Claim {
  manifest: Manifest;
  file: ManifestFile;
}

export interface SyncTimes {
  /** Between two readings when nothing was noticed. */
  relistMs: number;
  /** Editors replace a file by removing it first; a number is not deleted for that. */
  missingMs: number;
  /** By which it is missing. */
  now: () => number;
}

const TIMES: SyncTimes = { relistMs: 5000, missingMs: 2000, now: Date.now };
const SOON_MS = 120;

/** Takes in what people do to the folder: new files, changed files, removed files, files that make no sense. */
export class FolderSync {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #times: SyncTimes;
  readonly #missingSince = new Map<string, number>();
  /** By file; said once until it changes. */
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

  /** Files of which nothing is used, with the reason. */
  get faults(): ReadonlyMap<string, string> {
    return this.#faults;
  }

  get unreadable(): string | null {
    return this.#unreadable;
  }

  async start(): Promise<void> {
    this.#store.folder.startWatching(() => this.soon());
    await this.run();
  }

  stop(): void {
    this.#stopped = true;
    this.#store.folder.stopWatching();
    clearTimeout(this.#timer);
  }

  soon(ms = SOON_MS): void {
    const due = Date.now() + ms;
    if (this.#stopped || due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => void this.run(), ms);
  }

  async run(): Promise<void> {
    this.#due = Infinity;
    clearTimeout(this.#timer);
    const recheckMs = await this.#store
      .alone(() => this.#once())
      .catch((error: unknown) => this.#failed(error));
    this.soon(recheckMs);
  }

  /** Nothing is known of the folder: what was known stays in force. */
  #failed(error: unknown): number {
    const why = (error as Error).message;
    if (this.#unreadable !== why) this.#log.error({ err: error }, 'the folder of manifests cannot be read');
    this.#unreadable = why;
    return this.#times.relistMs;
  }

  async #once(): Promise<number> {
    await this.#finishRemovals();
    const files = await this.#store.folder.read();
    this.#unreadable = null;
    const faults = new Map<string, string>();
    for (const { path, fault } of files.values()) if (fault !== null) faults.set(path, fault);
    const claims = this.#claims(files, faults);
    for (const claim of claims.values()) await this.#importManifest(claim, faults);
    const missing = await this.#deleteMissing(claims, files);
    this.#report(faults);
    const settling = [...files.values()].some((file) => file.settling);
    if (settling) return SOON_MS;
    return missing ? this.#times.missingMs / 4 : this.#times.relistMs;
  }

  /** An operator was killed, or the folder could not be written, in the middle of a deletion. */
  async #finishRemovals(): Promise<void> {
    for (const { key, state } of this.#store.entries.all()) {
      if (state.deletionTimestamp !== undefined) await this.#store.finishRemoval({ key, uid: state.uid });
    }
  }

  /** One manifest for each key: the file that had it keeps it, else the first by name. */
  #claims(files: ReadonlyMap<string, ManifestFile>, faults: Map<string, string>): Map<string, Claim> {
    const claims = new Map<string, Claim>();
    for (const file of files.values()) {
      for (const manifest of file.manifests) {
        const key = formatKey(manifest);
        const other = claims.get(key);
        const keeps = this.#store.get(key)?.state.source?.file === file.path;
        if (!other || keeps) claims.set(key, { manifest, file });
        const loser = other && (keeps ? other.file : file).path;
        const winner = other && (keeps ? file : other.file).path;
        if (loser !== undefined) faults.set(loser, `${key} is described in ${winner} already`);
      }
    }
    return claims;
  }

  async #importManifest({ manifest, file }: Claim, faults: Map<string, string>): Promise<void> {
    const key = formatKey(manifest);
    const entry = this.#store.get(key);
    // Somebody wants it anew, which waits until the old one is gone.
    if (entry?.state.deletionTimestamp !== undefined) return;
    if (file.fault !== null || file.settling) return;
    try {
      await this.#store.importManifest(manifest, file.path);
    } catch (error) {
      faults.set(file.path, (error as Error).message);
    }
  }

  /** True while something is missing and not yet for long enough. */
  async #deleteMissing(
    claims: Map<string, Claim>,
    files: ReadonlyMap<string, ManifestFile>,
  ): Promise<boolean> {
    const absent = this.#store.entries.all().filter((entry) => isMissing(entry, claims, files));
    const keys = new Set(absent.map(({ key }) => key));
    for (const key of [...this.#missingSince.keys()]) if (!keys.has(key)) this.#missingSince.delete(key);
    const now = this.#times.now();
    for (const { key } of absent) {
      const since = this.#missingSince.get(key) ?? now;
      this.#missingSince.set(key, since);
      if (now - since < this.#times.missingMs) continue;
      this.#missingSince.delete(key);
      this.#log.info({ instance: key }, 'a manifest was removed; deleting the instance');
      this.#deleteLater(key);
    }
    return this.#missingSince.size > 0;
  }

  /** Not here: deleting takes the lock that this runs under. */
  #deleteLater(key: string): void {
    this.#store.deleteIfManifestGone(key).catch((error: unknown) => {
      this.#log.warn({ instance: key, err: error }, 'the deletion will be repeated');
    });
  }

  #report(faults: Map<string, string>): void {
    for (const [file, fault] of faults) {
      if (this.#faults.get(file) === fault) continue;
      this.#log.warn({ file, fault }, 'a manifest file is not used; what it said before stays in force');
      this.#tellOwners(file, fault);
    }
    this.#faults = faults;
  }

  #tellOwners(file: string, fault: string): void {
    for (const { key, state } of this.#store.entries.all()) {
      if (state.source?.file !== file) continue;
      const message = `${file}: ${fault}`;
      this.#store.tell({ key, uid: state.uid }, { type: 'Warning', reason: 'BrokenManifest', message });
    }
  }
}

/** Its file was read and does not speak of it, or is not there. */
function isMissing(
  entry: Entry,
  claims: Map<string, Claim>,
  files: ReadonlyMap<string, ManifestFile>,
): boolean {
  const { state, key } = entry;
  if (state.deletionTimestamp !== undefined || state.source === null || claims.has(key)) return false;
  const file = files.get(state.source.file);
  return !file || (file.fault === null && !file.settling);
}

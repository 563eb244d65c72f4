import { watch, type FSWatcher, type Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests, type Manifest } from './manifest-file.js';

/** What a file of the folder says, as last read. */
export interface ManifestFile {
  /** Relative to the folder. */
  path: string;
  /** Changes whenever the file does. */
  stamp: string;
  manifests: Manifest[];
  /** Why nothing of it is used; what it said before stays in force. */
  fault: string | null;
  /** Written this very moment: it may be half of what is meant. */
  settling: boolean;
}

const SETTLED_MS = 100;
const MANIFEST = /\.(ya?ml|json)$/;

/** The folder of manifests, read again only where a file changed. */
export class ManifestFolder {
  readonly #files = new Map<string, ManifestFile>();
  #watcher: FSWatcher | undefined;

  constructor(readonly path: string) {}

  get files(): ReadonlyMap<string, ManifestFile> {
    return this.#files;
  }

  /** @throws Error where the folder cannot be read: then nothing is known, least of all that something is gone */
  async read(): Promise<ReadonlyMap<string, ManifestFile>> {
    const names = await this.#list();
    for (const known of [...this.#files.keys()]) if (!names.includes(known)) this.#files.delete(known);
    for (const name of names) await this.#readFile(name);
    return this.#files;
  }

  /** Whether the file is still as it was last read, or still absent. A file that settles was not read. */
  async isUnchanged(name: string): Promise<boolean> {
    const known = this.#files.get(name);
    const now = await this.#stat(name);
    return !known?.settling && (now && stampOf(now)) === known?.stamp;
  }

  /** After a write of our own: it need not be read again. */
  async wrote(name: string, manifests: Manifest[] | null): Promise<void> {
    const now = await this.#stat(name);
    if (!now || !manifests) return void this.#files.delete(name);
    this.#files.set(name, { path: name, stamp: stampOf(now), manifests, fault: null, settling: false });
  }

  /** Calls after a change, often more than once; losing one is what the periodic reading is for. */
  startWatching(changed: () => void): void {
    try {
      this.#watcher = watch(this.path, { persistent: false }, changed);
      this.#watcher.on('error', () => this.stopWatching());
    } catch {
      this.#watcher = undefined;
    }
  }

  stopWatching(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  async #list(): Promise<string[]> {
    const entries = await readdir(this.path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && MANIFEST.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(join(this.path, '/').length))
      .filter((path) => !path.split('/').some((part) => part.startsWith('.')))
      .sort();
  }

  async #readFile(name: string): Promise<void> {
    const before = await this.#stat(name);
    if (!before) return void this.#files.delete(name);
    const known = this.#files.get(name);
    const stamp = stampOf(before);
    if (known?.stamp === stamp && !known.settling) return;
    const settling = Date.now() - before.mtimeMs < SETTLED_MS && Date.now() >= before.mtimeMs;
    const base = { path: name, stamp, settling, manifests: known?.manifests ?? [] };
    try {
      const text = settling ? null : await readFile(join(this.path, name), 'utf8');
      const manifests = text === null ? base.manifests : readManifests(text);
      this.#files.set(name, { ...base, manifests, fault: null });
    } catch (error) {
      this.#files.set(name, { ...base, fault: (error as Error).message });
    }
  }

  async #stat(name: string): Promise<Stats | null> {
    try {
      return await stat(join(this.path, name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return null;
      throw error;
    }
  }
}

function stampOf({ mtimeMs, size, ino }: Stats): string {
  return `${mtimeMs}:${size}:${ino}`;
}

import { watch, type FSWatcher, type Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests, type Manifest } from './manifest-file.js';

/** Last content of a manifest file. */
export interface ManifestFile {
  /** Relative to the folder. */
  path: string;
  /** Changes whenever the file changes. */
  stamp: string;
  manifests: Manifest[];
  /** Why the file is ignored; its previous content stays in force. Null: it is valid. */
  fault: string | null;
  /** Modified less than 100 ms ago, so possibly incomplete. */
  settling: boolean;
}

const SETTLED_MS = 100;
const MANIFEST = /\.(ya?ml|json)$/;

/** The folder of manifests. Only changed files are read again. */
export class ManifestFolder {
  readonly #files = new Map<string, ManifestFile>();
  #watcher: FSWatcher | undefined;

  constructor(readonly path: string) {}

  get files(): ReadonlyMap<string, ManifestFile> {
    return this.#files;
  }

  /** @throws Error if the folder is unreadable: then nothing counts as deleted */
  async read(): Promise<ReadonlyMap<string, ManifestFile>> {
    const names = await this.#list();
    for (const known of [...this.#files.keys()]) if (!names.includes(known)) this.#files.delete(known);
    for (const name of names) await this.#readFile(name);
    return this.#files;
  }

  /** Whether the file is as last read, or still absent. A settling file counts as changed. */
  async isUnchanged(name: string): Promise<boolean> {
    const known = this.#files.get(name);
    const now = await this.#stat(name);
    return !known?.settling && (now && buildStamp(now)) === known?.stamp;
  }

  /** Call after an own write, so that the file is not read again. */
  async wrote(name: string, manifests: Manifest[] | null): Promise<void> {
    const now = await this.#stat(name);
    if (!now || !manifests) return void this.#files.delete(name);
    this.#files.set(name, { path: name, stamp: buildStamp(now), manifests, fault: null, settling: false });
  }

  /** Calls `onChange` after changes, sometimes repeatedly. The periodic read covers missed notifications. */
  startWatching(onChange: () => void): void {
    try {
      this.#watcher = watch(this.path, { persistent: false }, onChange);
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
    const stamp = buildStamp(before);
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

function buildStamp({ mtimeMs, size, ino }: Stats): string {
  return `${mtimeMs}:${size}:${ino}`;
}

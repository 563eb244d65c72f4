import { watch, type FSWatcher, type Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatKey } from '../cluster.js';
import { removeFile, writeAtomically } from './disk.js';
import { readManifests, type FileManifest } from './manifest-file.js';

/** Content of a manifest file. */
export interface ManifestFile {
  /** Relative to the folder. */
  path: string;
  /** Changes whenever the file changes. */
  stamp: string;
  text: string;
  /** None if the file is invalid. */
  manifests: FileManifest[];
  /** Why the file is ignored; its previous content stays in force. Null: it is valid. */
  fault: string | null;
}

/** A file modified less than this ago is possibly incomplete, and is read a little later. */
const SETTLED_MS = 100;
const MANIFEST = /\.(ya?ml|json)$/;

/** The folder of manifests. Only changed files are read again. */
export class ManifestFolder {
  readonly #files = new Map<string, ManifestFile>();
  #watcher: FSWatcher | undefined;
  /** Whether the last read left out files that were just written. */
  settling = false;

  constructor(readonly path: string) {}

  /** @throws Error if the folder is unreadable: then nothing counts as deleted */
  async read(): Promise<ReadonlyMap<string, ManifestFile>> {
    const names = await this.#list();
    for (const known of [...this.#files.keys()]) if (!names.includes(known)) this.#files.delete(known);
    this.settling = false;
    for (const name of names) await this.#load(name, SETTLED_MS);
    return this.#files;
  }

  /** Finds a manifest in a file, even if the file was just written. Null: it is not there, or the file is invalid. */
  async find(name: string, key: string): Promise<{ file: ManifestFile; manifest: FileManifest } | null> {
    await this.#load(name, 0);
    const file = this.#files.get(name);
    const manifest = file?.manifests.find(({ metadata }) => formatKey(metadata) === key);
    return file && manifest ? { file, manifest } : null;
  }

  /** Replaces or creates a file. Null removes it. */
  async write(name: string, text: string | null): Promise<void> {
    const path = join(this.path, name);
    await (text === null ? removeFile(path) : writeAtomically(path, text));
    await this.#load(name, 0);
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

  async #load(name: string, settledMs: number): Promise<void> {
    const now = await this.#stat(name);
    if (!now) return void this.#files.delete(name);
    const stamp = `${now.mtimeMs}:${now.size}:${now.ino}`;
    if (this.#files.get(name)?.stamp === stamp) return;
    const age = Date.now() - now.mtimeMs;
    if (age >= 0 && age < settledMs) {
      this.settling = true;
      return;
    }
    const file: ManifestFile = { path: name, stamp, text: '', manifests: [], fault: null };
    try {
      file.text = await readFile(join(this.path, name), 'utf8');
      file.manifests = readManifests(file.text);
    } catch (error) {
      file.fault = (error as Error).message;
    }
    this.#files.set(name, file);
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

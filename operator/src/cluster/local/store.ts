import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { canonicalJson } from '@gwk/core/canonical-json';
import type { Logger } from '@gwk/core/log';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { formatKey, type InstanceEvent, type Target } from '../cluster.js';
import { alreadyExistsError, ApiStatus, notFoundError } from './api-status.js';
import {
  buildManifest,
  checkImmutableFields,
  isSameDesired,
  parseSpec,
  type Desired,
  type NamedDesired,
} from './desired.js';
import { ensureFolder, readIfExists, removeFile, writeAtomically } from './disk.js';
import { Entries, type Entry } from './entries.js';
import { ManifestFolder } from './manifest-folder.js';
import { KeyedLock } from './keyed-lock.js';
import {
  replaceDocument,
  renderManifest,
  readManifests,
  removeDocument,
  type Manifest,
} from './manifest-file.js';
import { applyFields, replaceFields, type Applied, type Writer } from './server-side-apply.js';
import { StateFiles, type ResourceState, type Source } from './state-files.js';
import { appendEvent } from './event-list.js';

interface Preconditions {
  uid?: string;
  resourceVersion?: string;
}

const EMPTY: Desired = { labels: {}, annotations: {}, spec: {} };
const NOTHING: Applied = { desired: EMPTY, owners: {} };
/** Field manager of manual edits in files. */
const FOLDER_MANAGER = 'folder';
/** Lock for writing and importing manifests. It cannot collide with a key, which contains a slash. */
const FOLDER = 'folder';

/**
 * Resources: manifests in a folder, their state beside it, and everything in memory.
 *
 * The manifest is written before its state. After a crash in between, the next start finds a manifest that differs
 * from the state, like a manual edit, and imports it. A deletion works the other way round: first mark the state,
 * then remove the manifest, so that a half-deleted resource is deleted.
 *
 * Lock order: FOLDER before the key. Memory changes after the disk, and readers see memory.
 */
export class Store {
  readonly entries = new Entries();
  readonly folder: ManifestFolder;
  readonly #files: StateFiles;
  readonly #locks = new KeyedLock();
  readonly #log: Logger;

  constructor(folder: string, log: Logger) {
    this.folder = new ManifestFolder(folder);
    this.#files = new StateFiles(folder);
    this.#log = log;
  }

  get stateFolder(): string {
    return this.#files.folder;
  }

  async prepare(): Promise<void> {
    await ensureFolder(this.folder.path);
    await this.#files.prepare();
  }

  async load(): Promise<void> {
    for (const { state, volatile } of await this.#files.load()) {
      this.entries.put(state, volatile?.events ?? [], volatile?.status);
    }
  }

  /** Resolves when all pending writes are done. */
  idle(): Promise<void> {
    return this.#locks.idle();
  }

  get(key: string): Entry | undefined {
    return this.entries.get(key);
  }

  /** Runs exclusively among all writers of manifests. */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#locks.run(FOLDER, work);
  }

  /** @throws ApiStatus */
  create(wanted: NamedDesired, writer: Writer): Promise<InstanceResource> {
    return this.runExclusive(async () => {
      if (this.get(formatKey(wanted))) throw alreadyExistsError(wanted.name);
      return this.#write(wanted, applyFields(NOTHING, wanted.desired, writer));
    });
  }

  /** Creates the resource if it is missing. @throws ApiStatus */
  apply(wanted: NamedDesired, writer: Writer): Promise<InstanceResource> {
    return this.runExclusive(async () => {
      await this.#readPendingEdit(formatKey(wanted));
      const entry = this.get(formatKey(wanted));
      if (!entry && wanted.uid !== undefined) throw notFoundError(wanted.name);
      checkPreconditions(entry, wanted);
      const now = entry ? entry.state : NOTHING;
      return this.#write(wanted, applyFields(now, wanted.desired, writer));
    });
  }

  /** Updates the user's fields with `change`. @throws ApiStatus */
  update(
    place: Preconditions & { namespace: string; name: string },
    manager: string,
    change: (desired: Desired) => Desired,
  ): Promise<InstanceResource> {
    return this.runExclusive(async () => {
      await this.#readPendingEdit(formatKey(place));
      const entry = this.get(formatKey(place));
      if (!entry) throw notFoundError(place.name);
      checkPreconditions(entry, place);
      const desired = change(entry.state.desired);
      return this.#write({ ...place, desired }, replaceFields(entry.state, desired, manager));
    });
  }

  /** Deletes a resource whose manifest was missing, unless somebody has written the manifest again. */
  deleteIfManifestGone(key: string): Promise<void> {
    return this.runExclusive(async () => {
      const entry = this.get(key);
      if (entry && !(await this.#hasManifest(entry))) await this.#delete(entry);
    });
  }

  /** Marks the resource as deleted. It disappears at once only without finalizers. @throws ApiStatus */
  delete(key: string, preconditions: Preconditions = {}): Promise<InstanceResource> {
    return this.runExclusive(async () => {
      const entry = this.get(key);
      if (!entry) throw notFoundError(key.split('/')[1]!);
      checkPreconditions(entry, preconditions);
      return this.#delete(entry);
    });
  }

  /** Requires the exclusive lock. */
  async #delete({ key, state, resource }: Entry): Promise<InstanceResource> {
    const { uid, deletionTimestamp } = state;
    if (deletionTimestamp !== undefined) return resource;
    await this.#patchState({ key, uid }, { deletionTimestamp: new Date().toISOString() });
    const marked = this.get(key)?.resource ?? resource;
    await this.finishRemoval({ key, uid });
    return marked;
  }

  /** Completes a deletion. Idempotent; requires the exclusive lock. */
  async finishRemoval(target: Target): Promise<void> {
    const source = this.get(target.key)?.state.source;
    if (source) await this.#removeManifest(target, source);
    await this.#removeIfReleased(target);
  }

  async #removeManifest(target: Target, source: Source): Promise<void> {
    const path = join(this.folder.path, source.file);
    const text = await readIfExists(path);
    const manifest = text === null ? undefined : findManifest(text, target.key);
    if (text !== null && manifest) {
      const left = removeDocument(source.file, text, manifest.index);
      await (left === null ? removeFile(path) : writeAtomically(path, left));
      await this.folder.wrote(source.file, left === null ? null : readManifests(left));
    }
    await this.#patchState(target, { source: null });
  }

  /** Imports a manifest from the folder. Requires the exclusive lock. @throws ApiStatus */
  async importManifest(manifest: Manifest, file: string): Promise<void> {
    const key = formatKey(manifest);
    const entry = this.get(key);
    const source: Source = { file, index: manifest.index };
    if (entry && isSameDesired(entry.state.desired, manifest.desired)) {
      if (!sameSource(entry.state.source, source))
        await this.#patchState({ key, uid: entry.state.uid }, { source });
      return;
    }
    const now = entry ? entry.state : NOTHING;
    await this.#commit(manifest, entry, { ...replaceFields(now, manifest.desired, FOLDER_MANAGER), source });
    const what = entry ? 'manifest changed' : 'manifest added';
    this.#log.info({ instance: key, file }, what);
  }

  async setFinalizers(target: Target, finalizers: string[]): Promise<void> {
    if (this.get(target.key)?.state.uid !== target.uid) return;
    await this.#patchState(target, { finalizers });
    await this.#removeIfReleased(target);
  }

  setStatus({ key, uid }: Target, status: InstanceResourceStatus): Promise<void> {
    return this.#locks.run(key, async () => {
      const entry = this.get(key);
      if (entry?.state.uid !== uid) return;
      await this.#files.saveVolatile(entry.state, { uid, status, events: entry.events });
      this.entries.put(entry.state, entry.events, status);
    });
  }

  recordEvent({ key, uid }: Target, event: InstanceEvent): void {
    const entry = this.get(key);
    if (entry?.state.uid !== uid) return;
    this.entries.setEvents(key, appendEvent(entry.events, event, new Date().toISOString()));
    const save = () => this.#saveEvents(key, uid);
    void this.#locks.run(key, save).catch((error: unknown) => {
      this.#log.warn({ instance: key, code: (error as NodeJS.ErrnoException).code }, 'events not saved');
    });
  }

  async #saveEvents(key: string, uid: string): Promise<void> {
    const entry = this.get(key);
    if (entry?.state.uid !== uid) return;
    const { status } = entry.resource;
    await this.#files.saveVolatile(entry.state, { uid, events: entry.events, ...(status && { status }) });
  }

  /** Imports an unread edit of the file first, which the next write would overwrite. */
  async #readPendingEdit(key: string): Promise<void> {
    const source = this.get(key)?.state.source;
    if (!source || (await this.folder.isUnchanged(source.file))) return;
    const text = await readIfExists(join(this.folder.path, source.file));
    const manifest = text === null ? undefined : findManifest(text, key);
    // Ignore an invalid edit here; reading the folder reports it.
    if (manifest) await this.importManifest(manifest, source.file).catch(() => undefined);
  }

  /** Whether its file contains it. An unreadable file counts as unchanged. */
  async #hasManifest({ key, state: { source } }: Entry): Promise<boolean> {
    if (source === null) return true;
    const text = await readIfExists(join(this.folder.path, source.file));
    if (text === null) return false;
    try {
      return readManifests(text).some((manifest) => formatKey(manifest) === key);
    } catch {
      return true;
    }
  }

  /** Writes the manifest, then the state. */
  async #write(wanted: NamedDesired, applied: Applied): Promise<InstanceResource> {
    const key = formatKey(wanted);
    const entry = this.get(key);
    if (entry && isSameDesired(entry.state.desired, applied.desired) && (await this.#hasManifest(entry))) {
      if (canonicalJson(entry.state.owners) === canonicalJson(applied.owners)) return entry.resource;
      return this.#patchState({ key, uid: entry.state.uid }, { owners: applied.owners });
    }
    validate(wanted.name, entry, applied.desired);
    const source = await this.#writeManifest(wanted, entry?.state ?? null, applied.desired);
    return this.#commit(wanted, entry, { ...applied, source });
  }

  async #writeManifest(
    place: { namespace: string; name: string },
    state: ResourceState | null,
    desired: Desired,
  ): Promise<Source | null> {
    // A resource being deleted must not get a new manifest.
    if (state?.deletionTimestamp !== undefined) return state.source;
    const manifest = buildManifest(place as InstanceResource['metadata'], desired);
    const { file, before, found } = await this.#findFile(place, state?.source ?? null);
    const text = found
      ? replaceDocument(file, before!, found.index, manifest)
      : renderManifest(file, manifest);
    await writeAtomically(join(this.folder.path, file), text);
    await this.folder.wrote(file, readManifests(text));
    return { file, index: found?.index ?? 0 };
  }

  /** A file without this resource, or an unreadable one, belongs to somebody else and is not overwritten. */
  async #findFile(
    place: { namespace: string; name: string },
    source: Source | null,
  ): Promise<{ file: string; before: string | null; found: Manifest | undefined }> {
    const before = source && (await readIfExists(join(this.folder.path, source.file)));
    const found = before === null ? undefined : findManifest(before, formatKey(place));
    const file = source && (before === null || found) ? source.file : await this.#findFreeName(place);
    return { file, before, found };
  }

  /** Finds a name that no other file has. */
  async #findFreeName({ namespace, name }: { namespace: string; name: string }): Promise<string> {
    const stem = namespace === 'default' ? name : `${namespace}.${name}`;
    for (let n = 1; ; n++) {
      const file = n === 1 ? `${stem}.yaml` : `${stem}-${n}.yaml`;
      if ((await readIfExists(join(this.folder.path, file))) === null) return file;
    }
  }

  /** Stores the user's fields in the state of `entry`, or of a new resource. @throws ApiStatus */
  async #commit(
    place: { namespace: string; name: string },
    entry: Entry | undefined,
    change: Pick<ResourceState, 'desired' | 'owners' | 'source'>,
  ): Promise<InstanceResource> {
    validate(place.name, entry, change.desired);
    if (!entry)
      return this.#locks.run(formatKey(place), () => this.#save({ ...createState(place), ...change }));
    const { uid, generation, desired } = entry.state;
    const specChanged = !sameSpec(desired, change.desired);
    return this.#patchState(
      { key: entry.key, uid },
      { ...change, generation: generation + (specChanged ? 1 : 0) },
    );
  }

  /** Changes part of the state and keeps the rest. @throws ApiStatus if the resource is gone */
  #patchState({ key, uid }: Target, change: Partial<ResourceState>): Promise<InstanceResource> {
    return this.#locks.run(key, () => {
      const entry = this.get(key);
      if (entry?.state.uid !== uid) throw notFoundError(key.split('/')[1]!);
      return this.#save({ ...entry.state, ...change });
    });
  }

  /** Requires the lock of the key. */
  async #save(state: ResourceState): Promise<InstanceResource> {
    await this.#files.save(state);
    const before = this.get(formatKey(state));
    return this.entries.put(state, before?.events ?? [], before?.resource.status).resource;
  }

  /** Removes a deleted resource once it has no finalizers, and no manifest that would create it again. */
  #removeIfReleased({ key, uid }: Target): Promise<void> {
    return this.#locks.run(key, async () => {
      const state = this.get(key)?.state;
      if (state?.uid !== uid || state.deletionTimestamp === undefined) return;
      if (state.finalizers.length > 0 || state.source !== null) return;
      await this.#files.remove(state);
      this.entries.delete(key);
    });
  }
}

function createState({ namespace, name }: { namespace: string; name: string }): ResourceState {
  const creationTimestamp = new Date().toISOString();
  const fresh = { uid: randomUUID(), generation: 1, creationTimestamp, finalizers: [], source: null };
  return { namespace, name, ...fresh, desired: EMPTY, owners: {} };
}

/** @throws ApiStatus */
function validate(name: string, entry: Entry | undefined, desired: Desired): void {
  const spec = parseSpec(name, desired);
  if (entry) checkImmutableFields(name, entry.resource.spec, spec);
}

/** @throws ApiStatus */
function checkPreconditions(entry: Entry | undefined, { uid, resourceVersion }: Preconditions): void {
  if (!entry) return;
  const { metadata } = entry.resource;
  const stale = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion;
  if (!stale && (uid === undefined || uid === metadata.uid)) return;
  const message = `Operation cannot be fulfilled on "${metadata.name}": the object has been modified; read it again`;
  throw new ApiStatus('Conflict', message, { name: metadata.name });
}

function findManifest(text: string, key: string): Manifest | undefined {
  try {
    return readManifests(text).find((manifest) => formatKey(manifest) === key);
  } catch {
    return undefined;
  }
}

const sameSpec = (a: Desired, b: Desired): boolean =>
  isSameDesired({ ...a, labels: {}, annotations: {} }, { ...b, labels: {}, annotations: {} });

const sameSource = (a: Source | null, b: Source): boolean => a?.file === b.file && a.index === b.index;

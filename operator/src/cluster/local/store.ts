import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { canonicalJson } from '@gwk/core/canonical-json';
import type { Logger } from '@gwk/core/log';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { formatKey, type InstanceEvent, type Target } from '../cluster.js';
import { alreadyExists, ApiStatus, notFound } from './api-status.js';
import { buildManifest, checkImmutableFields, isSameDesired, parseSpec, type Desired, type NamedDesired } from './desired.js';
import { ensureFolder, readIfExists, removeFile, writeAtomically } from './disk.js';
import { Entries, type Entry } from './entries.js';
import { ManifestFolder } from './manifest-folder.js';
import { KeyedLock } from './keyed-lock.js';
import { changeText, newText, readManifests, removeFromText, type Manifest } from './manifest-file.js';
import { applyFields, replaceFields, type Applied, type Writer } from './server-side-apply.js';
import { StateFiles, type ResourceState, type Source } from './state-files.js';
import { appendEvent } from './event-list.js';

export interface Preconditions {
  uid?: string;
  resourceVersion?: string;
}

const EMPTY: Desired = { labels: {}, annotations: {}, spec: {} };
const NOTHING: Applied = { desired: EMPTY, owners: {} };
/** Field manager of what people write into files. */
export const FOLDER_MANAGER = 'folder';
/** The lock of everything that writes manifests or takes them in. Keys hold a slash, so it is none. */
const FOLDER = 'folder';

/**
 * Resources: manifests in a folder, what was issued for them beside it, everything in memory.
 *
 * The manifest is written before the state that goes with it. Killed in between, the next start finds a manifest
 * that says more than the state, which is what a change by hand looks like, and takes it in. A deletion goes the
 * other way round: marked in the state first, then the manifest removed, so that what is half deleted is deleted.
 *
 * Locks: FOLDER before the key. Memory changes after the disk, and readers see memory.
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
    for (const { state, learned } of await this.#files.load()) {
      this.entries.put(state, learned?.story ?? [], learned?.status);
    }
  }

  /** Resolves when everything that was asked for is written. */
  idle(): Promise<void> {
    return this.#locks.idle();
  }

  get(key: string): Entry | undefined {
    return this.entries.get(key);
  }

  /** Runs alone among all that writes manifests. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#locks.run(FOLDER, work);
  }

  /** @throws ApiStatus */
  create(wanted: NamedDesired, writer: Writer): Promise<InstanceResource> {
    return this.alone(async () => {
      if (this.get(formatKey(wanted))) throw alreadyExists(wanted.name);
      return this.#write(wanted, applyFields(NOTHING, wanted.desired, writer));
    });
  }

  /** Creates what is not there. @throws ApiStatus */
  apply(wanted: NamedDesired, writer: Writer): Promise<InstanceResource> {
    return this.alone(async () => {
      await this.#catchUp(formatKey(wanted));
      const entry = this.get(formatKey(wanted));
      if (!entry && wanted.uid !== undefined) throw notFound(wanted.name);
      check(entry, wanted);
      const now = entry ? entry.state : NOTHING;
      return this.#write(wanted, applyFields(now, wanted.desired, writer));
    });
  }

  /** What people write, as `change` makes it of what it is. @throws ApiStatus */
  change(
    place: Preconditions & { namespace: string; name: string },
    manager: string,
    change: (desired: Desired) => Desired,
  ): Promise<InstanceResource> {
    return this.alone(async () => {
      await this.#catchUp(formatKey(place));
      const entry = this.get(formatKey(place));
      if (!entry) throw notFound(place.name);
      check(entry, place);
      const desired = change(entry.state.desired);
      return this.#write({ ...place, desired }, replaceFields(entry.state, desired, manager));
    });
  }

  /** What was found to have no manifest any more, unless somebody has written it anew since. */
  deleteIfManifestGone(key: string): Promise<void> {
    return this.alone(async () => {
      const entry = this.get(key);
      if (entry && !(await this.#isSaid(entry))) await this.#delete(entry);
    });
  }

  /** Marks; gone at once only where nobody holds it. @throws ApiStatus */
  delete(key: string, preconditions: Preconditions = {}): Promise<InstanceResource> {
    return this.alone(async () => {
      const entry = this.get(key);
      if (!entry) throw notFound(key.split('/')[1]!);
      check(entry, preconditions);
      return this.#delete(entry);
    });
  }

  /** Only while alone. */
  async #delete({ key, state, resource }: Entry): Promise<InstanceResource> {
    const { uid, deletionTimestamp } = state;
    if (deletionTimestamp !== undefined) return resource;
    await this.#amend({ key, uid }, { deletionTimestamp: new Date().toISOString() });
    const marked = this.get(key)?.resource ?? resource;
    await this.finishRemoval({ key, uid });
    return marked;
  }

  /** The rest of a deletion. Repeatable; only while alone. */
  async finishRemoval(target: Target): Promise<void> {
    const source = this.get(target.key)?.state.source;
    if (source) await this.#dropManifest(target, source);
    await this.#forgetUnheld(target);
  }

  async #dropManifest(target: Target, source: Source): Promise<void> {
    const path = join(this.folder.path, source.file);
    const text = await readIfExists(path);
    const manifest = text === null ? undefined : find(text, target.key);
    if (text !== null && manifest) {
      const left = removeFromText(source.file, text, manifest.index);
      await (left === null ? removeFile(path) : writeAtomically(path, left));
      await this.folder.wrote(source.file, left === null ? null : readManifests(left));
    }
    await this.#amend(target, { source: null });
  }

  /** A manifest as it was found in the folder. Only while alone. @throws ApiStatus */
  async importManifest(manifest: Manifest, file: string): Promise<void> {
    const key = formatKey(manifest);
    const entry = this.get(key);
    const source: Source = { file, index: manifest.index };
    if (entry && isSameDesired(entry.state.desired, manifest.desired)) {
      if (!sameSource(entry.state.source, source))
        await this.#amend({ key, uid: entry.state.uid }, { source });
      return;
    }
    const now = entry ? entry.state : NOTHING;
    await this.#commit(manifest, entry, { ...replaceFields(now, manifest.desired, FOLDER_MANAGER), source });
    const what = entry ? 'a manifest was changed by hand' : 'a manifest was found';
    this.#log.info({ instance: key, file }, what);
  }

  async setFinalizers(target: Target, finalizers: string[]): Promise<void> {
    if (this.get(target.key)?.state.uid !== target.uid) return;
    await this.#amend(target, { finalizers });
    await this.#forgetUnheld(target);
  }

  setStatus({ key, uid }: Target, status: InstanceResourceStatus): Promise<void> {
    return this.#locks.run(key, async () => {
      const entry = this.get(key);
      if (entry?.state.uid !== uid) return;
      await this.#files.saveLearned(entry.state, { uid, status, story: entry.story });
      this.entries.put(entry.state, entry.story, status);
    });
  }

  tell({ key, uid }: Target, line: InstanceEvent): void {
    const entry = this.get(key);
    if (entry?.state.uid !== uid) return;
    this.entries.tell(key, appendEvent(entry.story, line, new Date().toISOString()));
    const save = () => this.#saveStory(key, uid);
    void this.#locks.run(key, save).catch((error: unknown) => {
      this.#log.warn(
        { instance: key, code: (error as NodeJS.ErrnoException).code },
        'the story could not be kept',
      );
    });
  }

  async #saveStory(key: string, uid: string): Promise<void> {
    const entry = this.get(key);
    if (entry?.state.uid !== uid) return;
    const { status } = entry.resource;
    await this.#files.saveLearned(entry.state, { uid, story: entry.story, ...(status && { status }) });
  }

  /** What was written into its file a moment ago and not read yet would be lost by writing the file. */
  async #catchUp(key: string): Promise<void> {
    const source = this.get(key)?.state.source;
    if (!source || (await this.folder.isUnchanged(source.file))) return;
    const text = await readIfExists(join(this.folder.path, source.file));
    const manifest = text === null ? undefined : find(text, key);
    // What cannot be accepted is reported when the folder is read; here it does not count.
    if (manifest) await this.importManifest(manifest, source.file).catch(() => undefined);
  }

  /** Whether its file says it by now. One that cannot be understood goes on saying what it said. */
  async #isSaid({ key, state: { source } }: Entry): Promise<boolean> {
    if (source === null) return true;
    const text = await readIfExists(join(this.folder.path, source.file));
    if (text === null) return false;
    try {
      return readManifests(text).some((manifest) => formatKey(manifest) === key);
    } catch {
      return true;
    }
  }

  /** The manifest, then the state. */
  async #write(wanted: NamedDesired, applied: Applied): Promise<InstanceResource> {
    const key = formatKey(wanted);
    const entry = this.get(key);
    if (entry && isSameDesired(entry.state.desired, applied.desired) && (await this.#isSaid(entry))) {
      if (canonicalJson(entry.state.owners) === canonicalJson(applied.owners)) return entry.resource;
      return this.#amend({ key, uid: entry.state.uid }, { owners: applied.owners });
    }
    judge(wanted.name, entry, applied.desired);
    const source = await this.#writeManifest(wanted, entry?.state ?? null, applied.desired);
    return this.#commit(wanted, entry, { ...applied, source });
  }

  async #writeManifest(
    place: { namespace: string; name: string },
    state: ResourceState | null,
    desired: Desired,
  ): Promise<Source | null> {
    // What is being deleted has no manifest, and must not get one.
    if (state?.deletionTimestamp !== undefined) return state.source;
    const manifest = buildManifest(place as InstanceResource['metadata'], desired);
    const { file, before, found } = await this.#placeFor(place, state?.source ?? null);
    const text = found ? changeText(file, before!, found.index, manifest) : newText(file, manifest);
    await writeAtomically(join(this.folder.path, file), text);
    await this.folder.wrote(file, readManifests(text));
    return { file, index: found?.index ?? 0 };
  }

  /** A file that does not say it, or says nothing that can be understood, is somebody's work: it is not written over. */
  async #placeFor(
    place: { namespace: string; name: string },
    source: Source | null,
  ): Promise<{ file: string; before: string | null; found: Manifest | undefined }> {
    const before = source && (await readIfExists(join(this.folder.path, source.file)));
    const found = before === null ? undefined : find(before, formatKey(place));
    const file = source && (before === null || found) ? source.file : await this.#freeName(place);
    return { file, before, found };
  }

  /** Never over a file that somebody put there. */
  async #freeName({ namespace, name }: { namespace: string; name: string }): Promise<string> {
    const stem = namespace === 'default' ? name : `${namespace}.${name}`;
    for (let n = 1; ; n++) {
      const file = n === 1 ? `${stem}.yaml` : `${stem}-${n}.yaml`;
      if ((await readIfExists(join(this.folder.path, file))) === null) return file;
    }
  }

  /** What people want, as the state of `entry`, or of a new resource where there was none. @throws ApiStatus */
  async #commit(
    place: { namespace: string; name: string },
    entry: Entry | undefined,
    change: Pick<ResourceState, 'desired' | 'owners' | 'source'>,
  ): Promise<InstanceResource> {
    judge(place.name, entry, change.desired);
    if (!entry) return this.#locks.run(formatKey(place), () => this.#save({ ...issue(place), ...change }));
    const { uid, generation, desired } = entry.state;
    const moved = !sameSpec(desired, change.desired);
    return this.#amend({ key: entry.key, uid }, { ...change, generation: generation + (moved ? 1 : 0) });
  }

  /** Changes part of a state and leaves the rest as it is by now. @throws ApiStatus where it is gone */
  #amend({ key, uid }: Target, change: Partial<ResourceState>): Promise<InstanceResource> {
    return this.#locks.run(key, () => {
      const entry = this.get(key);
      if (entry?.state.uid !== uid) throw notFound(key.split('/')[1]!);
      return this.#save({ ...entry.state, ...change });
    });
  }

  /** Only while the key is locked. */
  async #save(state: ResourceState): Promise<InstanceResource> {
    await this.#files.save(state);
    const before = this.get(formatKey(state));
    return this.entries.put(state, before?.story ?? [], before?.resource.status).resource;
  }

  /** A deleted resource goes when its last holder let go, and its manifest is gone, which would make it anew. */
  #forgetUnheld({ key, uid }: Target): Promise<void> {
    return this.#locks.run(key, async () => {
      const state = this.get(key)?.state;
      if (state?.uid !== uid || state.deletionTimestamp === undefined) return;
      if (state.finalizers.length > 0 || state.source !== null) return;
      await this.#files.remove(state);
      this.entries.delete(key);
    });
  }
}

function issue({ namespace, name }: { namespace: string; name: string }): ResourceState {
  const creationTimestamp = new Date().toISOString();
  const fresh = { uid: randomUUID(), generation: 1, creationTimestamp, finalizers: [], source: null };
  return { namespace, name, ...fresh, desired: EMPTY, owners: {} };
}

/** @throws ApiStatus */
function judge(name: string, entry: Entry | undefined, desired: Desired): void {
  const spec = parseSpec(name, desired);
  if (entry) checkImmutableFields(name, entry.resource.spec, spec);
}

/** @throws ApiStatus */
function check(entry: Entry | undefined, { uid, resourceVersion }: Preconditions): void {
  if (!entry) return;
  const { metadata } = entry.resource;
  const stale = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion;
  if (!stale && (uid === undefined || uid === metadata.uid)) return;
  const message = `Operation cannot be fulfilled on "${metadata.name}": the object has been modified; read it again`;
  throw new ApiStatus('Conflict', message, { name: metadata.name });
}

function find(text: string, key: string): Manifest | undefined {
  try {
    return readManifests(text).find((manifest) => formatKey(manifest) === key);
  } catch {
    return undefined;
  }
}

const sameSpec = (a: Desired, b: Desired): boolean =>
  isSameDesired({ ...a, labels: {}, annotations: {} }, { ...b, labels: {}, annotations: {} });

const sameSource = (a: Source | null, b: Source): boolean => a?.file === b.file && a.index === b.index;

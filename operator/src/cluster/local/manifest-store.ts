import {
  ResourceConflict,
  type DesiredState,
  type NewResource,
  type Place,
} from '@gwk/core/desired-state/desired-state';
import type { InstanceDetails, RecordedEvent } from '@gwk/core/desired-state/operator-client';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import {
  MANIFEST_API_VERSION,
  type InstanceResource,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { Logger } from '@gwk/core/log';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { formatKey, type InstanceEvent, type Target } from '../cluster.js';
import { ensureFolder, readIfExists, removeFile, STATE_FOLDER, writeAtomically } from './disk.js';
import { JsonFolder } from './json-folder.js';
import { renderManifest, replaceDocument, removeDocument, type Manifest } from './manifest-file.js';
import { ManifestFolder, type ManifestFile } from './manifest-folder.js';
import {
  buildManifest,
  changeSpec,
  checkImmutableFields,
  isSameDesired,
  parseSpec,
  readManifest,
  type NamedDesired,
  type StoredResource,
} from './manifest.js';

export interface Entry {
  key: string;
  stored: StoredResource;
  resource: InstanceResource;
}

const MAX_EVENTS = 50;
/** Delay before status and events are saved, so that one write covers several changes. */
const SAVE_LATER_MS = 200;

/**
 * The folder of manifests, with the state of each resource beside it and everything in memory. This process is the
 * only writer besides people with an editor, and all writes run one after the other.
 *
 * The manifest is written before its state. After a crash in between, the next start finds a manifest that differs
 * from the state, like a manual edit, and imports it. A deletion works the other way round: first mark the state,
 * then remove the manifest, so that a half-deleted resource is deleted.
 */
export class ManifestStore implements DesiredState {
  readonly folder: ManifestFolder;
  readonly stateFolder: string;
  /** Codes of `gwk pair` by key. In memory only: the next operator finds the request and publishes it again. */
  readonly pairings = new Map<string, PairingView>();
  readonly #files: JsonFolder<StoredResource>;
  readonly #log: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #unsaved = new Set<string>();
  /** Starts at the current time, so that no version of an earlier run matches a new one. */
  #version = Date.now() * 1000;
  #lastWrite: Promise<unknown> = Promise.resolve();
  #saveTimer: NodeJS.Timeout | undefined;
  #onChange: (key: string) => void = () => undefined;

  constructor(folder: string, log: Logger) {
    this.folder = new ManifestFolder(folder);
    this.stateFolder = join(folder, STATE_FOLDER);
    this.#files = new JsonFolder(
      join(this.stateFolder, 'resources'),
      // Neither part can contain an `@`.
      ({ namespace, name }) => `${namespace}@${name}`,
      'Restore it, or remove it to create the instance again.',
    );
    this.#log = log;
  }

  /** The state's own .gitignore keeps it out of git, where users may keep the manifests. */
  async prepare(): Promise<void> {
    await ensureFolder(this.stateFolder);
    await writeAtomically(join(this.stateFolder, '.gitignore'), '*\n');
  }

  /** Calls `onChange` with the keys of later changes. */
  async load(onChange: (key: string) => void): Promise<void> {
    for (const stored of await this.#files.load()) this.#put(stored);
    this.#onChange = onChange;
  }

  /** Completes all writes. */
  async close(): Promise<void> {
    clearTimeout(this.#saveTimer);
    await this.runExclusive(() => this.#saveUnsaved());
  }

  /** Runs one writer at a time. */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#lastWrite.then(work);
    this.#lastWrite = done.catch(() => undefined);
    return done;
  }

  entry(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  entries(): Entry[] {
    return [...this.#entries.values()];
  }

  list(namespace: string | null): Promise<InstanceResource[]> {
    const all = this.entries().map(({ resource }) => resource);
    return Promise.resolve(
      all.filter(({ metadata }) => namespace === null || metadata.namespace === namespace),
    );
  }

  get(place: Place): Promise<InstanceResource | null> {
    return Promise.resolve(this.entry(formatKey(place))?.resource ?? null);
  }

  details(place: Place): InstanceDetails | null {
    const key = formatKey(place);
    const entry = this.entry(key);
    if (!entry) return null;
    const { resource, stored } = entry;
    return { resource, events: stored.events, pairing: this.pairings.get(key) ?? null };
  }

  /** The resource may come from outside of this process; it is validated. */
  async create(given: NewResource): Promise<InstanceResource> {
    const wanted = readManifest({ apiVersion: MANIFEST_API_VERSION, kind: 'Instance', ...given });
    return this.runExclusive(async () => {
      if (this.entry(formatKey(wanted)))
        throw new ResourceConflict(`instances.gwk.dev "${wanted.name}" already exists`);
      return this.#write(wanted, undefined);
    });
  }

  change({ metadata, spec }: InstanceResource): Promise<InstanceResource> {
    const { namespace, name, labels = {}, annotations = {} } = metadata;
    return this.runExclusive(async () => {
      const key = formatKey(metadata);
      await this.#importPendingEdit(key);
      const entry = this.entry(key);
      const present = entry?.resource;
      if (
        present?.metadata.uid !== metadata.uid ||
        present.metadata.resourceVersion !== metadata.resourceVersion
      )
        throw new ResourceConflict(`instances.gwk.dev "${name}" has changed; read it again`);
      const written = changeSpec(entry!.stored.desired.spec, present.spec, spec);
      return this.#write({ namespace, name, desired: { labels, annotations, spec: written } }, entry);
    });
  }

  delete(place: Place): Promise<void> {
    return this.runExclusive(async () => {
      const entry = this.entry(formatKey(place));
      if (entry) await this.deleteWithin(entry);
    });
  }

  deleteResource({ key, uid }: Target): Promise<void> {
    return this.runExclusive(async () => {
      const entry = this.#find({ key, uid });
      if (entry) await this.deleteWithin(entry);
    });
  }

  /** Marks it as deleted and removes its manifest. It disappears with its last finalizer. Requires exclusiveness. */
  async deleteWithin({ key, stored }: Entry): Promise<void> {
    if (stored.deletionTimestamp === undefined)
      await this.#patch(key, { deletionTimestamp: new Date().toISOString() });
    if (stored.file !== null) await this.#removeManifest(key, stored.file);
    await this.#removeIfReleased(key);
  }

  async #removeManifest(key: string, name: string): Promise<void> {
    const file = await this.folder.readFile(name);
    const manifest = file?.fault === null ? findManifest(file, key) : undefined;
    if (file && manifest) {
      const path = join(this.folder.path, name);
      const left = removeDocument(name, file.text, manifest.index);
      await (left === null ? removeFile(path) : writeAtomically(path, left));
      await this.folder.readFile(name);
    }
    await this.#patch(key, { file: null });
  }

  /** Removes a deleted resource once it has no finalizers, and no manifest that would create it again. */
  async #removeIfReleased(key: string): Promise<void> {
    const { stored } = this.entry(key)!;
    const { deletionTimestamp, finalizers, file } = stored;
    if (deletionTimestamp === undefined || finalizers.length > 0 || file !== null) return;
    await this.#files.remove(stored);
    this.#entries.delete(key);
    this.#onChange(key);
  }

  setFinalizers(target: Target, finalizers: string[]): Promise<void> {
    return this.runExclusive(async () => {
      if (!this.#find(target)) return;
      await this.#patch(target.key, { finalizers });
      await this.#removeIfReleased(target.key);
    });
  }

  setStatus(target: Target, status: InstanceResourceStatus): void {
    const entry = this.#find(target);
    if (!entry) return;
    this.#put({ ...entry.stored, status }, entry.resource.metadata.resourceVersion);
    this.#saveLater(target.key);
  }

  recordEvent(target: Target, event: InstanceEvent): void {
    const entry = this.#find(target);
    if (!entry) return;
    const events = appendEvent(entry.stored.events, event, new Date().toISOString());
    entry.stored = { ...entry.stored, events };
    this.#saveLater(target.key);
  }

  /** Imports a manifest from the folder. Requires exclusiveness. @throws ResourceInvalid */
  async importManifest(manifest: Manifest, file: string): Promise<void> {
    const entry = this.entry(formatKey(manifest));
    if (entry && isSameDesired(entry.stored.desired, manifest.desired)) {
      if (entry.stored.file !== file) await this.#patch(entry.key, { file });
      return;
    }
    validate(manifest, entry);
    const { key } = await this.#commit(manifest, entry, file);
    this.#log.info({ instance: key, file }, entry ? 'manifest changed' : 'manifest added');
  }

  /** Imports an unread edit of the file first, which the next write would overwrite. */
  async #importPendingEdit(key: string): Promise<void> {
    const name = this.entry(key)?.stored.file ?? null;
    const file = name === null ? undefined : await this.folder.readFile(name);
    const manifest = file?.fault === null ? findManifest(file, key) : undefined;
    // Ignore an invalid edit here; reading the folder reports it.
    if (file && manifest) await this.importManifest(manifest, file.path).catch(() => undefined);
  }

  async #write(wanted: NamedDesired, entry: Entry | undefined): Promise<InstanceResource> {
    validate(wanted, entry);
    // A resource being deleted must not get a new manifest.
    const isDeleting = entry?.stored.deletionTimestamp !== undefined;
    const file = isDeleting
      ? entry.stored.file
      : await this.#writeManifest(wanted, entry?.stored.file ?? null);
    return (await this.#commit(wanted, entry, file)).resource;
  }

  /** A file without this resource, or an invalid one, belongs to somebody else and is not overwritten. */
  async #writeManifest(wanted: NamedDesired, name: string | null): Promise<string> {
    const file = name === null ? undefined : await this.folder.readFile(name);
    const found = file?.fault === null ? findManifest(file, formatKey(wanted)) : undefined;
    if (file && found && isSameDesired(found.desired, wanted.desired)) return file.path;
    const target = name !== null && (found || !file) ? name : await this.#findFreeName(wanted);
    const manifest = buildManifest(wanted, wanted.desired);
    const text =
      file && found
        ? replaceDocument(target, file.text, found.index, manifest)
        : renderManifest(target, manifest);
    await writeAtomically(join(this.folder.path, target), text);
    await this.folder.readFile(target);
    return target;
  }

  /** Finds a name that no other file has. */
  async #findFreeName({ namespace, name }: Place): Promise<string> {
    const stem = namespace === 'default' ? name : `${namespace}.${name}`;
    for (let n = 1; ; n++) {
      const file = n === 1 ? `${stem}.yaml` : `${stem}-${n}.yaml`;
      if ((await readIfExists(join(this.folder.path, file))) === null) return file;
    }
  }

  /** Stores the user's fields in the state of `entry`, or of a new resource. */
  async #commit(wanted: NamedDesired, entry: Entry | undefined, file: string | null): Promise<Entry> {
    const { desired } = wanted;
    if (!entry) {
      const stored = { ...createResource(wanted), desired, file };
      await this.#files.save(stored);
      return this.#put(stored);
    }
    const { generation, desired: before } = entry.stored;
    const specChanged = !isSameDesired({ ...before, spec: desired.spec }, before);
    return this.#patch(entry.key, { desired, file, generation: generation + (specChanged ? 1 : 0) });
  }

  /** Saves a change before memory shows it. Requires exclusiveness. */
  async #patch(key: string, change: Partial<StoredResource>): Promise<Entry> {
    await this.#files.save({ ...this.entry(key)!.stored, ...change });
    // Status and events may have changed meanwhile.
    return this.#put({ ...this.entry(key)!.stored, ...change });
  }

  #put(stored: StoredResource, version = String(++this.#version)): Entry {
    const key = formatKey(stored);
    const entry = { key, stored, resource: buildResource(stored, version) };
    this.#entries.set(key, entry);
    this.#onChange(key);
    return entry;
  }

  #find({ key, uid }: Target): Entry | undefined {
    const entry = this.entry(key);
    return entry?.stored.uid === uid ? entry : undefined;
  }

  #saveLater(key: string): void {
    this.#unsaved.add(key);
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      this.runExclusive(() => this.#saveUnsaved()).catch((error: unknown) =>
        this.#log.warn({ err: error }, 'status and events not saved'),
      );
    }, SAVE_LATER_MS);
  }

  async #saveUnsaved(): Promise<void> {
    const entries = [...this.#unsaved].flatMap((key) => this.entry(key) ?? []);
    this.#unsaved.clear();
    await Promise.all(entries.map(({ stored }) => this.#files.save(stored)));
  }
}

function createResource({ namespace, name }: Place): Omit<StoredResource, 'desired' | 'file'> {
  const creationTimestamp = new Date().toISOString();
  return { namespace, name, uid: randomUUID(), generation: 1, creationTimestamp, finalizers: [], events: [] };
}

function buildResource(stored: StoredResource, resourceVersion: string): InstanceResource {
  const { namespace, name, uid, generation, creationTimestamp, deletionTimestamp, finalizers } = stored;
  const { labels, annotations } = stored.desired;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      ...{ name, namespace, uid, generation, resourceVersion, creationTimestamp },
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers.length > 0 && { finalizers }),
    },
    spec: parseSpec(name, stored.desired),
    ...(stored.status && { status: stored.status }),
  };
}

/** @throws ResourceInvalid */
function validate({ name, desired }: NamedDesired, entry: Entry | undefined): void {
  const spec = parseSpec(name, desired);
  if (entry) checkImmutableFields(name, entry.resource.spec, spec);
}

function findManifest({ manifests }: ManifestFile, key: string): Manifest | undefined {
  return manifests.find((manifest) => formatKey(manifest) === key);
}

/** Appends an event, or increases the count of an equal last event. */
function appendEvent(events: RecordedEvent[], event: InstanceEvent, now: string): RecordedEvent[] {
  const last = events.at(-1);
  if (last?.reason === event.reason && last.message === event.message)
    return [...events.slice(0, -1), { ...last, last: now, count: last.count + 1 }];
  return [...events, { ...event, first: now, last: now, count: 1 }].slice(-MAX_EVENTS);
}

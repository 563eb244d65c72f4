import {
  ResourceConflict,
  type NewResource,
  type Place,
  type InstanceDetails,
  type RecordedEvent,
} from '@gwk/core/desired-state/desired-state';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import {
  FINALIZER,
  InstanceResource,
  MANIFEST_API_VERSION,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { Logger } from '@gwk/core/process/log';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { formatKey, type InstanceEvent, type Target } from '../cluster.js';
import {
  ensureFolder,
  loadJsonFolder,
  removeFile,
  STATE_FOLDER,
  writeAtomically,
  writeJson,
} from './disk.js';
import { renderManifest, replaceDocument, removeDocument } from './manifest-file.js';
import { ManifestFolder } from './manifest-folder.js';
import {
  buildManifest,
  checkImmutableFields,
  isSameManifest,
  readManifest,
  type Manifest,
  type WrittenSpec,
} from './manifest.js';

/** State that the operator keeps for a manifest, with its content, which outlives the file while the engine stops. */
export interface Entry {
  resource: InstanceResource;
  /** File that contains the manifest; null once it is removed. */
  file: string | null;
  events: RecordedEvent[];
}

/** Fields that a write changes. */
interface Change {
  metadata?: Partial<InstanceResource['metadata']>;
  spec?: InstanceResource['spec'];
  file?: string | null;
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
export class ManifestStore {
  readonly folder: ManifestFolder;
  readonly stateFolder: string;
  /** Codes of `gwk pair` by key. In memory only: the next operator finds the request and publishes it again. */
  readonly pairings = new Map<string, PairingView>();
  /** Runs one writer at a time. */
  readonly runExclusive = pLimit(1);
  readonly #log: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #unsaved = new Set<string>();
  /** Starts at the current time, so that no version of an earlier run matches a new one. */
  #version = Date.now() * 1000;
  #saveTimer: NodeJS.Timeout | undefined;
  #onChange: (key: string) => void = () => undefined;

  constructor(folder: string, log: Logger) {
    this.folder = new ManifestFolder(folder);
    this.stateFolder = join(folder, STATE_FOLDER);
    this.#log = log;
  }

  /** The state's own .gitignore keeps it out of git, where users may keep the manifests. */
  async prepare(): Promise<void> {
    await ensureFolder(this.stateFolder);
    await writeAtomically(join(this.stateFolder, '.gitignore'), '*\n');
  }

  /** Calls `onChange` with the keys of later changes. */
  async load(onChange: (key: string) => void): Promise<void> {
    const advice = 'Restore it, or remove it to create the instance again.';
    const parse = (entry: Entry): Entry => ({ ...entry, resource: InstanceResource.parse(entry.resource) });
    for (const entry of await loadJsonFolder(join(this.stateFolder, 'resources'), advice, parse))
      this.#put(entry);
    this.#onChange = onChange;
  }

  /** Completes all writes. */
  async close(): Promise<void> {
    clearTimeout(this.#saveTimer);
    await this.runExclusive(() => this.#saveUnsaved());
  }

  entry(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  entries(): Entry[] {
    return [...this.#entries.values()];
  }

  list(namespace: string | null): InstanceResource[] {
    const all = this.entries().map(({ resource }) => resource);
    return all.filter(({ metadata }) => namespace === null || metadata.namespace === namespace);
  }

  details(place: Place): InstanceDetails | null {
    const key = formatKey(place);
    const entry = this.entry(key);
    if (!entry) return null;
    const { resource, events } = entry;
    return { resource, events, pairing: this.pairings.get(key) ?? null };
  }

  /** The resource may come from outside of this process; it is validated. */
  async create(given: NewResource): Promise<InstanceResource> {
    const wanted = readManifest({ apiVersion: MANIFEST_API_VERSION, kind: 'Instance', ...given });
    const { metadata } = wanted;
    return this.runExclusive(async () => {
      if (this.entry(formatKey(metadata)))
        throw new ResourceConflict(`instances.gwk.dev "${metadata.name}" already exists`);
      const file = await this.#writeManifest(wanted, null, given.spec);
      return (await this.#commit(wanted, undefined, file)).resource;
    });
  }

  change(wanted: InstanceResource): Promise<InstanceResource> {
    const { metadata } = wanted;
    return this.runExclusive(async () => {
      const key = formatKey(metadata);
      await this.#importPendingEdit(key);
      const entry = this.entry(key);
      const present = entry?.resource.metadata;
      if (!entry || present?.uid !== metadata.uid || present.resourceVersion !== metadata.resourceVersion)
        throw new ResourceConflict(`instances.gwk.dev "${metadata.name}" has changed; read it again`);
      checkImmutableFields(entry.resource, wanted);
      // A resource being deleted must not get a new manifest.
      const file = isDeleting(entry) ? entry.file : await this.#writeManifest(wanted, entry.file);
      return (await this.#commit(wanted, entry, file)).resource;
    });
  }

  async delete(place: Place): Promise<void> {
    const entry = this.entry(formatKey(place));
    if (entry) await this.deleteResource(getTarget(entry));
  }

  deleteResource(target: Target): Promise<void> {
    return this.runExclusive(async () => {
      const entry = this.#find(target);
      if (entry) await this.deleteWithin(entry);
    });
  }

  /** Marks it as deleted and removes its manifest. It disappears with its last finalizer. Requires exclusiveness. */
  async deleteWithin(entry: Entry): Promise<void> {
    const { key } = getTarget(entry);
    if (!isDeleting(entry))
      await this.#patch(key, { metadata: { deletionTimestamp: new Date().toISOString() } });
    if (entry.file !== null) await this.#removeManifest(key, entry.file);
    await this.#removeIfReleased(key);
  }

  async #removeManifest(key: string, name: string): Promise<void> {
    const found = await this.folder.find(name, key);
    if (found) await this.folder.write(name, removeDocument(name, found.file.text, found.manifest.index));
    await this.#patch(key, { file: null });
  }

  /** Removes a deleted resource once it has no finalizers, and no manifest that would create it again. */
  async #removeIfReleased(key: string): Promise<void> {
    const entry = this.entry(key)!;
    const isHeld = (entry.resource.metadata.finalizers ?? []).length > 0 || entry.file !== null;
    if (!isDeleting(entry) || isHeld) return;
    await removeFile(this.#stateFile(entry));
    this.#entries.delete(key);
    this.#onChange(key);
  }

  setFinalizer(target: Target, isSet: boolean): Promise<void> {
    const finalizers = isSet ? [FINALIZER] : [];
    return this.runExclusive(async () => {
      if (!this.#find(target)) return;
      await this.#patch(target.key, { metadata: { finalizers } });
      await this.#removeIfReleased(target.key);
    });
  }

  setStatus(target: Target, status: InstanceResourceStatus): void {
    const entry = this.#find(target);
    if (!entry) return;
    const { resourceVersion } = entry.resource.metadata;
    this.#put({ ...entry, resource: { ...entry.resource, status } }, resourceVersion);
    this.#saveLater(target.key);
  }

  recordEvent(target: Target, event: InstanceEvent): void {
    const entry = this.#find(target);
    if (!entry) return;
    entry.events = appendEvent(entry.events, event, new Date().toISOString());
    this.#saveLater(target.key);
  }

  /** Imports a manifest from the folder. Requires exclusiveness. @throws ResourceInvalid */
  async importManifest(manifest: Manifest, file: string): Promise<void> {
    const key = formatKey(manifest.metadata);
    const entry = this.entry(key);
    if (entry && isSameManifest(entry.resource, manifest)) {
      if (entry.file !== file) await this.#patch(key, { file });
      return;
    }
    if (entry) checkImmutableFields(entry.resource, manifest);
    await this.#commit(manifest, entry, file);
    this.#log.info({ instance: key, file }, entry ? 'manifest changed' : 'manifest added');
  }

  /** Imports an unread edit of the file first, which the next write would overwrite. */
  async #importPendingEdit(key: string): Promise<void> {
    const name = this.entry(key)?.file ?? null;
    const found = name === null ? null : await this.folder.find(name, key);
    // Ignore an invalid edit here; reading the folder reports it.
    if (found) await this.importManifest(found.manifest, found.file.path).catch(() => undefined);
  }

  /**
   * A file without this resource, or an invalid one, belongs to somebody else and is not overwritten.
   *
   * @param written the spec as given, for a new file
   */
  async #writeManifest(
    wanted: Manifest,
    name: string | null,
    written: WrittenSpec = { account: wanted.spec.account },
  ): Promise<string> {
    const found = name === null ? null : await this.folder.find(name, formatKey(wanted.metadata));
    if (!found) {
      const file = this.#findFreeName(wanted.metadata);
      await this.folder.write(file, renderManifest(file, buildManifest(wanted, written)));
      return file;
    }
    const { file, manifest } = found;
    if (isSameManifest(manifest, wanted)) return file.path;
    const document = buildManifest(wanted, manifest.written);
    await this.folder.write(file.path, replaceDocument(file.path, file.text, manifest.index, document));
    return file.path;
  }

  /** Finds a name that no other file has. */
  #findFreeName({ namespace, name }: Place): string {
    const stem = namespace === 'default' ? name : `${namespace}.${name}`;
    for (let n = 1; ; n++) {
      const file = n === 1 ? `${stem}.yaml` : `${stem}-${n}.yaml`;
      if (!existsSync(join(this.folder.path, file))) return file;
    }
  }

  /** Stores the user's fields in the state of `entry`, or of a new resource. */
  async #commit({ metadata, spec }: Manifest, entry: Entry | undefined, file: string | null): Promise<Entry> {
    if (entry) {
      const { labels, annotations } = metadata;
      const hasNewSpec = canonicalJson(entry.resource.spec) !== canonicalJson(spec);
      const generation = entry.resource.metadata.generation + (hasNewSpec ? 1 : 0);
      return this.#patch(formatKey(metadata), { metadata: { labels, annotations, generation }, spec, file });
    }
    const creationTimestamp = new Date().toISOString();
    const identity = { uid: randomUUID(), generation: 1, resourceVersion: '', creationTimestamp };
    const resource: InstanceResource = {
      apiVersion: MANIFEST_API_VERSION,
      kind: 'Instance',
      metadata: { ...metadata, ...identity },
      spec,
    };
    const created = { resource, file, events: [] };
    await this.#save(created);
    return this.#put(created);
  }

  /** Saves a change before memory shows it. Requires exclusiveness. */
  async #patch(key: string, change: Change): Promise<Entry> {
    await this.#save(applyChange(this.entry(key)!, change));
    // Status and events may have changed meanwhile.
    return this.#put(applyChange(this.entry(key)!, change));
  }

  #save(entry: Entry): Promise<void> {
    return writeJson(this.#stateFile(entry), entry);
  }

  #stateFile({ resource: { metadata } }: Entry): string {
    // Neither part can contain an `@`.
    return join(this.stateFolder, 'resources', `${metadata.namespace}@${metadata.name}.json`);
  }

  #put({ resource, ...rest }: Entry, resourceVersion = String(++this.#version)): Entry {
    const key = formatKey(resource.metadata);
    const metadata = { ...resource.metadata, resourceVersion };
    const entry = { ...rest, resource: { ...resource, metadata } };
    this.#entries.set(key, entry);
    this.#onChange(key);
    return entry;
  }

  #find({ key, uid }: Target): Entry | undefined {
    const entry = this.entry(key);
    return entry?.resource.metadata.uid === uid ? entry : undefined;
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
    await Promise.all(entries.map((entry) => this.#save(entry)));
  }
}

function applyChange({ resource, ...entry }: Entry, { metadata, spec, file = entry.file }: Change): Entry {
  const changed = { ...resource, metadata: { ...resource.metadata, ...metadata } };
  return { ...entry, file, resource: { ...changed, spec: spec ?? resource.spec } };
}

export const isDeleting = (entry: Entry | undefined): boolean =>
  entry?.resource.metadata.deletionTimestamp !== undefined;

export const getTarget = ({ resource: { metadata } }: Entry): Target => ({
  key: formatKey(metadata),
  uid: metadata.uid,
});

/** Appends an event, or increases the count of an equal last event. */
function appendEvent(events: RecordedEvent[], event: InstanceEvent, now: string): RecordedEvent[] {
  const last = events.at(-1);
  if (last?.reason === event.reason && last.message === event.message)
    return [...events.slice(0, -1), { ...last, last: now, count: last.count + 1 }];
  return [...events, { ...event, first: now, last: now, count: 1 }].slice(-MAX_EVENTS);
}

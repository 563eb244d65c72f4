import { ListWatch, Watch } from '@kubernetes/client-node';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/process/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, type KubeClient } from '@gwk/core/kubernetes/client';

export interface KubeObject {
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    deletionTimestamp?: string;
    finalizers?: string[];
  };
}

/** Query of one page of a list. */
export interface Page {
  limit: number;
  _continue?: string;
  labelSelector?: string;
}

interface InformerOptions<Raw extends KubeObject, Cached> {
  client: KubeClient;
  /** Typed call that lists a page. */
  list: (page: Page) => Promise<unknown>;
  /** Path of the watch. */
  path: string;
  labelSelector?: string;
  log: Logger;
  /** Returns the cached form of an object; null: ignore the object. Must not throw. */
  transform: (raw: Raw) => Cached | null;
  /** Must not throw, and must only queue work. A deletion passes the final state. */
  onChange: (name: string, object: Cached, deleted: boolean) => void;
  /** Called after each complete list. */
  onListed?: () => void;
  times?: Partial<WatchTimes>;
}

export interface WatchTimes {
  /**
   * Restart a watch that delivers no event and no bookmark (one a minute) for this long, even if its connection is
   * open.
   */
  idleTimeoutMs: number;
  /** List again after this time, in case the server lost an event. */
  relistMs: number;
  backoffMs: number;
  maxBackoffMs: number;
  pageSize: number;
}

const TIMES: WatchTimes = {
  idleTimeoutMs: 90_000,
  relistMs: 900_000,
  backoffMs: 500,
  maxBackoffMs: 30_000,
  pageSize: 500,
};
const WATCH_SECONDS = 290;

type Versioned = Pick<KubeObject, 'metadata'> | Pick<Entry<unknown>, 'metadata'>;

/** Cached instead of the whole object. ListWatch needs the metadata. */
interface Entry<Cached> {
  metadata: { name: string; namespace?: string; resourceVersion: string };
  cached: Cached;
}

/** An informer of any kind. */
export type Watching = Pick<
  Informer<KubeObject, unknown>,
  'start' | 'stop' | 'ageMs' | 'forbidden' | 'failures' | 'relists'
>;

type Emit = (type: string, object: unknown) => void;
type Failure = Error & { statusCode?: number };

/**
 * A cache of all objects of one kind, kept up to date by client-node's ListWatch.
 *
 *   list ──> watch ──(normal end)──> watch again from the last version
 *     ^        │
 *     │        ├──(reset, 5xx, no data)──backoff──> watch again; after three failures in a row: list
 *     └────────┴──(410 version too old, or relist period over)
 *
 * ListWatch stops at each failure but 410, so this class starts it again, or reports a 410 to it.
 */
export class Informer<Raw extends KubeObject, Cached> {
  readonly #options: InformerOptions<Raw, Cached>;
  readonly #times: WatchTimes;
  readonly #cache: ListWatch<Entry<Cached>>;
  readonly #stopping = new AbortController();
  #emit: Emit = () => undefined;
  #failures = 0;
  #listedAt = 0;
  #receivedAt = 0;
  #isListNew = false;
  #resolveStart: () => void = () => undefined;
  /** The last answer was 403: the namespace or the right to read it is gone. */
  forbidden = false;
  /** For metrics. */
  relists = 0;
  failures = 0;

  constructor(options: InformerOptions<Raw, Cached>) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#cache = new ListWatch(
      options.path,
      this.#createWatch(),
      () => this.#list(),
      false,
      options.labelSelector,
    );
    for (const verb of ['add', 'update', 'delete'] as const)
      this.#cache.on(verb, (entry) => options.onChange(formatName(entry), entry.cached, verb === 'delete'));
    this.#cache.on('error', () => void this.#restart());
  }

  /**
   * Resolves after the first list, or after the first 403, which must not block the start of other informers. Retries
   * in both cases.
   */
  start(): Promise<void> {
    const started = new Promise<void>((resolve) => (this.#resolveStart = resolve));
    this.#receivedAt = Date.now();
    void this.#cache.start();
    return started;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#cache.stop();
    this.#resolveStart();
  }

  /** Whether at least one list is complete. */
  get listed(): boolean {
    return this.relists > 0;
  }

  /** Time since the last object, bookmark or list. */
  get ageMs(): number {
    return Date.now() - this.#receivedAt;
  }

  get(name: string): Cached | undefined {
    const [own, namespace] = name.split('/').reverse();
    return this.#cache.get(own!, namespace)?.cached;
  }

  names(): string[] {
    return this.#cache.list().map(formatName);
  }

  /**
   * Puts the server's answer to an own write into the cache, ahead of its watch event. After the last finalizer the
   * object is gone, and in a deleted namespace no event says so.
   */
  applyWrite(raw: Raw): void {
    const known = this.#find(raw);
    if (!known || !isNewer(raw, known)) return;
    const { deletionTimestamp, finalizers = [] } = raw.metadata;
    const isGone = deletionTimestamp !== undefined && finalizers.length === 0;
    this.#ahead(() => this.#apply(isGone ? 'DELETED' : 'MODIFIED', raw));
  }

  /** The server says that the object does not exist. */
  forget(name: string): void {
    const [own, namespace] = name.split('/').reverse();
    const known = this.#cache.get(own!, namespace);
    if (known) this.#ahead(() => this.#emit('DELETED', known));
  }

  /** Events of other objects may come before this version, so the watch must not resume from it. */
  #ahead(change: () => void): void {
    const resourceVersion = this.#cache.latestResourceVersion();
    change();
    this.#emit('BOOKMARK', { metadata: { resourceVersion } });
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  #find({ metadata }: Versioned): Entry<Cached> | undefined {
    return this.#cache.get(metadata.name, metadata.namespace);
  }

  async #list() {
    const { list, labelSelector } = this.#options;
    const page: Page = { limit: this.#times.pageSize, ...(labelSelector !== undefined && { labelSelector }) };
    const entries: Entry<Cached>[] = [];
    try {
      for (;;) {
        const { metadata, items } = (await list(page)) as RawList<Raw>;
        entries.push(...items.map((raw) => this.#toEntry(raw)).filter((entry) => entry !== null));
        const next = metadata._continue ?? metadata.continue;
        if (!next || this.#stopped) {
          this.#isListNew = true;
          return { metadata: { resourceVersion: metadata.resourceVersion }, items: entries };
        }
        page._continue = next;
      }
    } catch (error) {
      this.#reportFailure(error as Failure);
      throw error;
    }
  }

  /** client-node 2.0.1 has no public setting for the timeout. By default it ends a quiet watch after 30 s. */
  #createWatch(): Watch {
    const watch = new Watch(this.#options.client);
    Object.assign(watch, { requestTimeoutMs: this.#times.idleTimeoutMs });
    const open = watch.watch.bind(watch);
    watch.watch = async (path, query, emit, done) => {
      this.#emit = emit;
      this.#reportList();
      const timeoutSeconds = Math.round(WATCH_SECONDS * (0.8 + Math.random() / 5));
      const end = (error: Failure | null) => this.#watchEnded(error, done);
      try {
        const whole = { ...query, allowWatchBookmarks: true, timeoutSeconds };
        const request = await open(path, whole, (type, object) => this.#receive(type, object), end);
        if (this.#stopped) request.abort();
        return request;
      } catch (error) {
        end(error as Failure);
        return this.#stopping;
      }
    };
    return watch;
  }

  /** ListWatch opens a watch when its cache contains the list. */
  #reportList(): void {
    if (!this.#isListNew) return;
    this.#isListNew = false;
    this.#listedAt = this.#receivedAt = Date.now();
    this.relists++;
    this.forbidden = false;
    this.#options.onListed?.();
    this.#resolveStart();
  }

  #watchEnded(error: Failure | null, done: (error: unknown) => void): void {
    this.#options.client.count('WATCH', this.#options.path, error ? (error.statusCode ?? 0) : 200);
    if (this.#stopped) return;
    if (error) this.#reportFailure(error);
    const mustList = this.#failures >= 3 || Date.now() - this.#listedAt > this.#times.relistMs;
    // ListWatch treats its TimeoutError as a normal end.
    done(mustList ? { statusCode: 410 } : error);
  }

  #receive(type: string, object: unknown): void {
    this.#receivedAt = Date.now();
    this.#failures = 0;
    if (type === 'ERROR') return this.#emit(type, object);
    if (type !== 'BOOKMARK') this.#apply(type, object as Raw);
    this.#emit('BOOKMARK', object);
  }

  #apply(type: string, raw: Raw): void {
    const known = this.#find(raw);
    // An event older than the answer to an own write.
    if (known && isNewer(known, raw)) return;
    const entry = this.#toEntry(raw);
    if (entry) this.#emit('MODIFIED', entry);
    const last = entry ?? known;
    if (last && (type === 'DELETED' || !entry)) this.#emit('DELETED', last);
  }

  #toEntry(raw: Raw): Entry<Cached> | null {
    const cached = this.#options.transform(raw);
    if (cached === null) return null;
    const { name, namespace, resourceVersion } = raw.metadata;
    return { metadata: { name, resourceVersion, ...(namespace !== undefined && { namespace }) }, cached };
  }

  #reportFailure(error: Failure): void {
    this.failures++;
    this.#failures++;
    if (isCode(error, 403) || error.statusCode === 403) {
      this.forbidden = true;
      this.#resolveStart();
    }
    this.#options.log.info({ path: this.#options.path, err: error }, 'watch failed; retrying');
  }

  async #restart(): Promise<void> {
    const { backoffMs: firstMs, maxBackoffMs: maxMs } = this.#times;
    const { signal } = this.#stopping;
    await sleep(backoffDelay({ firstMs, maxMs }, this.#failures), undefined, { signal }).catch(
      () => undefined,
    );
    if (!this.#stopped) await this.#cache.start();
  }
}

interface RawList<Raw> {
  /** Typed lists contain `_continue`, lists of custom resources `continue`. */
  metadata: { resourceVersion: string; _continue?: string; continue?: string };
  items: Raw[];
}

const formatName = ({ metadata }: Versioned): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;

/** Compares resource versions as integers. With non-numeric versions none is newer. */
function isNewer(one: Versioned, other: Versioned): boolean {
  const [a, b] = [one.metadata.resourceVersion, other.metadata.resourceVersion];
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}

import type { Logger } from '@gwk/core/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, KubeError, type KubeClient } from './client.js';

export interface KubeObject {
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string };
}

interface InformerOptions<Raw extends KubeObject, Cached> {
  client: KubeClient;
  /** Path of the list. */
  path: string;
  labelSelector?: string;
  log: Logger;
  /** Returns the cached form of an object; null: ignore the object. */
  transform: (raw: Raw) => Cached | null;
  /** Must not throw, and must only queue work. `after` null: the object was deleted. */
  onChange: (name: string, before: Cached | undefined, after: Cached | null) => void;
  /** Called after each complete list. */
  onListed?: () => void;
  times?: Partial<WatchTimes>;
  /** In [0, 1). */
  random?: () => number;
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

interface Entry<Cached> {
  version: string;
  cached: Cached;
}

/**
 * A cache of all objects of one kind, kept up to date by list and watch.
 *
 *   list ──> watch ──(normal end)──> watch again from the last version
 *     ^        │
 *     │        ├──(reset, 5xx, no data)──backoff──> watch again; after three failures in a row: list
 *     └────────┴──(410 version too old, or relist period over)
 *
 * A list is compared with the cache, so that deletions missed by the watch are noticed. The informer never stops by
 * itself.
 */
export class Informer<Raw extends KubeObject, Cached> {
  readonly #options: InformerOptions<Raw, Cached>;
  readonly #times: WatchTimes;
  readonly #items = new Map<string, Entry<Cached>>();
  readonly #stopping = new AbortController();
  #version: string | null = null;
  #failures = 0;
  #listedAt = 0;
  #receivedAt = 0;
  #running: Promise<void> = Promise.resolve();
  #firstAnswer: (() => void) | null = null;
  /** The last answer was 403: the namespace or the right to read it is gone. */
  forbidden = false;
  /** For metrics. */
  relists = 0;
  failures = 0;

  constructor(options: InformerOptions<Raw, Cached>) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
  }

  /**
   * Resolves after the first list, or after the first 403, which must not block the start of other informers. Retries
   * in both cases.
   */
  start(): Promise<void> {
    const answered = new Promise<void>((resolve) => (this.#firstAnswer = resolve));
    this.#receivedAt = Date.now();
    this.#running = this.#run();
    return Promise.race([answered, this.#running]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Whether at least one list is complete. */
  get listed(): boolean {
    return this.relists > 0;
  }

  /** Time since the last object, bookmark or list. */
  get ageMs(): number {
    return Date.now() - this.#receivedAt;
  }

  get size(): number {
    return this.#items.size;
  }

  get(name: string): Cached | undefined {
    return this.#items.get(name)?.cached;
  }

  names(): IterableIterator<string> {
    return this.#items.keys();
  }

  values(): Cached[] {
    return [...this.#items.values()].map(({ cached }) => cached);
  }

  /** Puts the server's answer to an own write into the cache, ahead of its watch event. */
  applyWrite(raw: Raw): void {
    const known = this.#items.get(formatName(raw));
    if (known && isNewer(raw.metadata.resourceVersion, known.version)) this.#put(raw);
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (this.#version === null || Date.now() - this.#listedAt > this.#times.relistMs) await this.#list();
        await this.#watch(this.#version!);
        this.#failures = 0;
      } catch (error) {
        if (!this.#stopped) await this.#handleFailure(error);
      }
    }
  }

  async #handleFailure(error: unknown): Promise<void> {
    this.failures++;
    this.#failures++;
    const tooOld = isCode(error, 410);
    if (tooOld || this.#failures >= 3) this.#version = null;
    if (isCode(error, 403)) {
      this.forbidden = true;
      this.#resolveStart();
    }
    if (tooOld && this.#failures === 1) return;
    const { backoffMs, maxBackoffMs } = this.#times;
    const full = Math.min(maxBackoffMs, backoffMs * 2 ** Math.min(this.#failures - 1, 10));
    const inMs = Math.round(full * (0.5 + (this.#options.random ?? Math.random)() / 2));
    this.#options.log.info(
      { path: this.#options.path, retry_in_ms: inMs, err: error },
      'watch failed; retrying',
    );
    await sleep(inMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #list(): Promise<void> {
    const { client, path, labelSelector } = this.#options;
    const seen = new Set<string>();
    let next: string | undefined;
    let version: string;
    do {
      const page = await client.call<{
        metadata: { resourceVersion: string; continue?: string };
        items: Raw[];
      }>({
        path,
        query: { limit: this.#times.pageSize, labelSelector, continue: next },
        timeoutMs: this.#times.idleTimeoutMs,
      });
      for (const raw of page.items) {
        seen.add(formatName(raw));
        // A list overrides newer versions: after a restore of the cluster, versions start over.
        this.#put(raw, { evenIfOlder: true });
      }
      version = page.metadata.resourceVersion;
      next = page.metadata.continue || undefined;
    } while (next !== undefined && !this.#stopped);
    for (const name of [...this.#items.keys()]) if (!seen.has(name)) this.#remove(name);
    this.#version = version;
    this.#listedAt = this.#receivedAt = Date.now();
    this.relists++;
    this.forbidden = false;
    this.#options.onListed?.();
    this.#resolveStart();
  }

  #resolveStart(): void {
    this.#firstAnswer?.();
    this.#firstAnswer = null;
  }

  async #watch(from: string): Promise<void> {
    const { client, path, labelSelector } = this.#options;
    const timeout = new AbortController();
    const signal = AbortSignal.any([timeout.signal, this.#stopping.signal]);
    const onTimeout = () => timeout.abort(new Error('no event within the timeout'));
    let timer = setTimeout(onTimeout, this.#times.idleTimeoutMs);
    const seconds = Math.round(WATCH_SECONDS * (0.8 + (this.#options.random ?? Math.random)() / 5));
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: from,
      timeoutSeconds: seconds,
      labelSelector,
    };
    try {
      for await (const line of client.lines({ path, query }, signal)) {
        clearTimeout(timer);
        timer = setTimeout(onTimeout, this.#times.idleTimeoutMs);
        this.#receivedAt = Date.now();
        this.#applyEvent(JSON.parse(line) as WatchEvent<Raw>);
        this.#failures = 0;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #applyEvent(event: WatchEvent<Raw>): void {
    if (event.type === 'ERROR') {
      const { code = 500, reason = 'Unknown', message = '' } = event.object;
      throw new KubeError(code, reason, message);
    }
    this.#version = event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') this.#forget(event.object);
    else this.#put(event.object);
  }

  #put(raw: Raw, { evenIfOlder = false } = {}): void {
    const name = formatName(raw);
    const known = this.#items.get(name);
    if (known?.version === raw.metadata.resourceVersion) return;
    // An event older than the answer to an own write.
    if (known && !evenIfOlder && isNewer(known.version, raw.metadata.resourceVersion)) return;
    const cached = this.#options.transform(raw);
    if (cached === null) return this.#remove(name);
    this.#items.set(name, { version: raw.metadata.resourceVersion, cached });
    this.#options.onChange(name, known?.cached, cached);
  }

  /** Reports the final state before the deletion. */
  #forget(raw: Raw): void {
    this.#put(raw);
    this.#remove(formatName(raw));
  }

  #remove(name: string): void {
    const known = this.#items.get(name);
    if (!known) return;
    this.#items.delete(name);
    this.#options.onChange(name, known.cached, null);
  }
}

type WatchEvent<Raw> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: Raw }
  | { type: 'ERROR'; object: { code?: number; reason?: string; message?: string } };

const formatName = ({ metadata }: KubeObject): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;

/** Compares resource versions as integers. With non-numeric versions none is newer. */
function isNewer(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}

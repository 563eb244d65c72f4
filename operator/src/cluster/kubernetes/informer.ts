import type { Logger } from '@gwk/core/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, KubeError, type KubeClient } from './client.js';

export interface KubeObject {
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string };
}

export interface InformerOptions<Raw extends KubeObject, Kept> {
  client: KubeClient;
  /** Of the list. */
  path: string;
  labelSelector?: string;
  log: Logger;
  /** What is remembered of an object; null: nothing, it is as if it were not there. */
  keep: (raw: Raw) => Kept | null;
  /** Must not throw, and only notes what is to be looked at. `after` null: it is gone. */
  changed: (name: string, before: Kept | undefined, after: Kept | null) => void;
  /** Everything is known now. */
  listed?: () => void;
  times?: Partial<WatchTimes>;
  /** In [0, 1). */
  random?: () => number;
}

export interface WatchTimes {
  /** No event and no bookmark (one a minute) for so long: the watch is dead, whatever its connection says. */
  silenceMs: number;
  /** Everything is listed anew, in case an event was lost that nobody knows of. */
  relistMs: number;
  backoffMs: number;
  maxBackoffMs: number;
  pageSize: number;
}

const TIMES: WatchTimes = {
  silenceMs: 90_000,
  relistMs: 900_000,
  backoffMs: 500,
  maxBackoffMs: 30_000,
  pageSize: 500,
};
const WATCH_SECONDS = 290;

interface Entry<Kept> {
  version: string;
  kept: Kept;
}

/**
 * All objects of one kind, kept up to date.
 *
 *   list ──> watch ──(ended by the server, in peace)──> watch again from the last version
 *     ^        │
 *     │        ├──(reset, 5xx, silence)──wait──> watch again; after three in a row, or where nothing was heard: list
 *     └────────┴──(410: the version is too old; relist time)
 *
 * A list is compared with what is known, so that what was deleted meanwhile is noticed. It never ends by itself.
 */
export class Informer<Raw extends KubeObject, Kept> {
  readonly #options: InformerOptions<Raw, Kept>;
  readonly #times: WatchTimes;
  readonly #items = new Map<string, Entry<Kept>>();
  readonly #stopping = new AbortController();
  #version: string | null = null;
  #failures = 0;
  #listedAt = 0;
  #answeredAt = 0;
  #running: Promise<void> = Promise.resolve();
  #firstAnswer: (() => void) | null = null;
  /** The server last said that this may not be read: a namespace or its rights are gone. */
  refused = false;
  /** For metrics. */
  relists = 0;
  breaks = 0;

  constructor(options: InformerOptions<Raw, Kept>) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
  }

  /**
   * Resolves with the first list, or when that is refused; it is tried again and again all the same. Whoever waits for
   * several must not wait for ever for one whose rights somebody has taken away.
   */
  start(): Promise<void> {
    const answered = new Promise<void>((resolve) => (this.#firstAnswer = resolve));
    this.#answeredAt = Date.now();
    this.#running = this.#run();
    return Promise.race([answered, this.#running]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Whether everything was known at least once. */
  get listed(): boolean {
    return this.relists > 0;
  }

  /** Since anything was heard: an object, a bookmark, a list. */
  get ageMs(): number {
    return Date.now() - this.#answeredAt;
  }

  get size(): number {
    return this.#items.size;
  }

  get(name: string): Kept | undefined {
    return this.#items.get(name)?.kept;
  }

  names(): IterableIterator<string> {
    return this.#items.keys();
  }

  values(): Kept[] {
    return [...this.#items.values()].map(({ kept }) => kept);
  }

  /** What the server answered to a write of our own, ahead of its event: the next look sees it. */
  written(raw: Raw): void {
    const known = this.#items.get(nameOf(raw));
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
        if (!this.#stopped) await this.#afterBreak(error);
      }
    }
  }

  async #afterBreak(error: unknown): Promise<void> {
    this.breaks++;
    this.#failures++;
    const tooOld = isCode(error, 410);
    if (tooOld || this.#failures >= 3) this.#version = null;
    if (isCode(error, 403)) {
      this.refused = true;
      this.#answered();
    }
    if (tooOld && this.#failures === 1) return;
    const { backoffMs, maxBackoffMs } = this.#times;
    const full = Math.min(maxBackoffMs, backoffMs * 2 ** Math.min(this.#failures - 1, 10));
    const inMs = Math.round(full * (0.5 + (this.#options.random ?? Math.random)() / 2));
    this.#options.log.info({ path: this.#options.path, inMs, err: error }, 'a watch broke and begins again');
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
        timeoutMs: this.#times.silenceMs,
      });
      for (const raw of page.items) {
        seen.add(nameOf(raw));
        // A list is believed whatever its versions: those of a cluster restored from a backup begin anew.
        this.#put(raw, { evenIfOlder: true });
      }
      version = page.metadata.resourceVersion;
      next = page.metadata.continue || undefined;
    } while (next !== undefined && !this.#stopped);
    for (const name of [...this.#items.keys()]) if (!seen.has(name)) this.#remove(name);
    this.#version = version;
    this.#listedAt = this.#answeredAt = Date.now();
    this.relists++;
    this.refused = false;
    this.#options.listed?.();
    this.#answered();
  }

  #answered(): void {
    this.#firstAnswer?.();
    this.#firstAnswer = null;
  }

  async #watch(from: string): Promise<void> {
    const { client, path, labelSelector } = this.#options;
    const silence = new AbortController();
    const signal = AbortSignal.any([silence.signal, this.#stopping.signal]);
    const tooSilent = () => silence.abort(new Error('nothing was heard for too long'));
    let timer = setTimeout(tooSilent, this.#times.silenceMs);
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
        timer = setTimeout(tooSilent, this.#times.silenceMs);
        this.#answeredAt = Date.now();
        this.#take(JSON.parse(line) as WatchEvent<Raw>);
        this.#failures = 0;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #take(event: WatchEvent<Raw>): void {
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
    const name = nameOf(raw);
    const known = this.#items.get(name);
    if (known?.version === raw.metadata.resourceVersion) return;
    // An event that lags behind the answer to a write of our own.
    if (known && !evenIfOlder && isNewer(known.version, raw.metadata.resourceVersion)) return;
    const kept = this.#options.keep(raw);
    if (kept === null) return this.#remove(name);
    this.#items.set(name, { version: raw.metadata.resourceVersion, kept });
    this.#options.changed(name, known?.kept, kept);
  }

  /** With how it was at the end. */
  #forget(raw: Raw): void {
    this.#put(raw);
    this.#remove(nameOf(raw));
  }

  #remove(name: string): void {
    const known = this.#items.get(name);
    if (!known) return;
    this.#items.delete(name);
    this.#options.changed(name, known.kept, null);
  }
}

type WatchEvent<Raw> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: Raw }
  | { type: 'ERROR'; object: { code?: number; reason?: string; message?: string } };

const nameOf = ({ metadata }: KubeObject): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;

/** Versions of one kind of objects are whole numbers that grow; of a server where they are not, none is newer. */
function isNewer(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}

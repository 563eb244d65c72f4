import { decodeNotified, type NotifiedMessage } from '@gwk/core/protocol/notified-messages';
import { HEARTBEAT_TTL_RENEWALS, type Heartbeat } from '@gwk/core/protocol/redis-keys';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { CommandReader, type CommandReaderOptions } from './command-reader.js';
import type { RedisAddress } from './connection.js';
import { ReconnectingLink } from './reconnecting-link.js';
import { readStream, type StreamEntry } from './stream-reader.js';

interface EngineRedisOptions extends Pick<
  CommandReaderOptions,
  'keys' | 'instanceId' | 'commandKey' | 'log' | 'handlers'
> {
  address: RedisAddress;
  epoch: number;
  renewMs: number;
  restoreUser: () => Promise<void>;
  heartbeat: () => Heartbeat;
  /**
   * Requests a claim. Resolves when a claim that begins after this call is answered, or when none is possible now.
   * @param traceparent parent of the claim's span, for the few notifications that carry a trace
   */
  notify: (traceparent?: string | null) => Promise<void>;
  /** Keeps an entry until its message is settled; false when no such message is held. */
  keep: (messageId: string, entry: string) => boolean;
  /**
   * Decides about new messages that came with this entry.
   * - kept: they are being built, and the entry stays until they are settled
   * - done: they need no claim now
   * - claim: they must be claimed
   */
  take: (messages: NotifiedMessage[], entry: string) => 'kept' | 'done' | 'claim';
  /** Reports the time of a notification, by the clock of Redis. */
  received: (notifiedAt: number) => void;
}

const NOTIFICATION_BATCH = 32;
/** Entries are deleted in batches. Nobody waits for it, and each command wakes two programs. */
const ACKNOWLEDGE_EVERY_MS = 1_000;
/** Fewer than the API counts before it leaves messages out of notifications (SENDS_WITH_MESSAGES_MAXLEN). */
const MAX_UNACKNOWLEDGED = 16;
/** Entries to delete after a loss of the connection; about the length of a stream. */
const MAX_KEPT = 1_000;

/**
 * The Redis connections of an engine: two block on a stream, one writes.
 *
 *     sends stream ────▶ notifications ─────▶ claimer          (which messages wait is in Postgres)
 *     commands stream ─▶ command-reader.ts ─▶ command handlers ─▶ reply (publish)
 *     writer ──────────▶ heartbeat, deleted entries
 *
 * Losing a heartbeat or a deletion does no harm, so no write waits or is retried.
 */
export class EngineRedis {
  readonly #options: EngineRedisOptions;
  readonly #sends: string;
  readonly #links: Record<'notifications' | 'commands' | 'writer', ReconnectingLink>;
  readonly #commands: CommandReader;
  #restoring: Promise<void> | undefined;
  #unacknowledged: string[] = [];
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #flushTimer: NodeJS.Timeout | undefined;

  constructor(options: EngineRedisOptions) {
    const { address, log, keys, instanceId } = options;
    this.#options = options;
    this.#sends = keys.sends(instanceId);
    const link = (name: string): ReconnectingLink =>
      new ReconnectingLink({
        address,
        restoreUser: () => this.#restoreUser(),
        log: log.child({ link: name }),
      });
    this.#links = {
      notifications: link('notifications'),
      commands: link('commands'),
      writer: link('writer'),
    };
    const { commands, writer } = this.#links;
    this.#commands = new CommandReader({ ...options, link: commands, publisher: writer });
  }

  get up(): boolean {
    return this.#links.notifications.up;
  }

  start(): void {
    const { renewMs, notify } = this.#options;
    void readStream({
      stream: this.#sends,
      link: this.#links.notifications,
      batch: NOTIFICATION_BATCH,
      opened: () => notify(),
      handle: (entries) => this.#handleNotifications(entries),
    });
    void this.#commands.run();
    this.#heartbeatTimer = setInterval(() => this.sendHeartbeat(), renewMs);
    void this.#links.writer.run((connection) => {
      this.sendHeartbeat();
      return connection.closed;
    });
  }

  /** Resolves once the commands in progress have been answered. */
  waitForReplies(): Promise<void> {
    return this.#commands.waitForReplies();
  }

  stop(): void {
    clearInterval(this.#heartbeatTimer);
    this.#flush();
    for (const link of Object.values(this.#links)) link.stop();
  }

  sendHeartbeat(): void {
    const { instanceId, epoch, keys, heartbeat } = this.#options;
    const { alive, connected } = heartbeat();
    this.#writeTime(keys.alive(instanceId, epoch), alive);
    if (connected) this.#writeTime(keys.connected(instanceId, epoch), connected);
  }

  /**
   * Deletes notification entries after a short delay. Entries left behind at the end notify the
   * next engine, which finds nothing to claim for them.
   */
  acknowledge(entries: string[]): void {
    this.#unacknowledged.push(...entries);
    if (this.#unacknowledged.length >= MAX_UNACKNOWLEDGED) this.#flush();
    else this.#flushTimer ??= setTimeout(() => this.#flush(), ACKNOWLEDGE_EVERY_MS).unref();
  }

  /**
   * The rows in Postgres are the queue, so a notification is done once a claim was made or is not needed. It is acknowledged
   * then, or with the outcome of its message if the engine holds that. Small batches are handled one after the other, so a
   * long stream costs no memory.
   */
  async #handleNotifications(entries: StreamEntry[]): Promise<void> {
    const { received, notify, keep } = this.#options;
    // The id of a stream entry begins with its time.
    for (const { id } of entries) received(Number.parseInt(id, 10));
    const spans = tracing.on ? startSpans(entries) : [];
    const answers = entries.map((entry) => this.#take(entry));
    if (answers.includes('claim')) await notify(spans[0]?.traceparent);
    for (const span of spans) span.end();
    const done = entries.filter(({ id, fields }, index) => {
      return answers[index] !== 'kept' && !keep(fields['m'] ?? '', id);
    });
    if (done.length > 0) this.acknowledge(done.map(({ id }) => id));
  }

  #take({ id, fields: { m: messageId, n: encrypted } }: StreamEntry): ReturnType<EngineRedisOptions['take']> {
    if (messageId === undefined || encrypted === undefined) return 'claim';
    const { commandKey: key } = this.#options;
    const messages = decodeNotified(encrypted, messageId, { key, now: Date.now() });
    return messages === null ? 'claim' : this.#options.take(messages, id);
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#unacknowledged.length === 0) return;
    const entries = this.#unacknowledged.splice(0);
    const deleted = this.#links.writer.call(['XDEL', this.#sends, ...entries]);
    // A stream that keeps entries gets no messages any more.
    deleted.catch(() => {
      if (this.#unacknowledged.length < MAX_KEPT) this.#unacknowledged.push(...entries);
    });
  }

  /** INCRBY stores an integer only, so engines need no command that can store large values. */
  #writeTime(key: string, time: Date): void {
    this.#write(['DEL', key]);
    this.#write(['INCRBY', key, String(time.getTime())]);
    this.#write(['PEXPIRE', key, String(this.#options.renewMs * HEARTBEAT_TTL_RENEWALS)]);
  }

  #write(words: string[]): void {
    this.#links.writer.call(words).catch(() => undefined);
  }

  /** All links lose the user at once. One call restores it for all. */
  #restoreUser(): Promise<void> {
    this.#restoring ??= this.#options.restoreUser().finally(() => (this.#restoring = undefined));
    return this.#restoring;
  }
}

/** Spans from the receipt of a notification until its claim is answered, if it causes one. */
function startSpans(entries: readonly StreamEntry[]): Span[] {
  const traceparents = entries.flatMap(({ fields }) => fields['t']?.split(',') ?? []);
  return traceparents.map((traceparent) => tracing.child('notified', traceparent, { kind: 'consumer' }));
}

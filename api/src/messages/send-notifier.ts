import { createHash } from 'node:crypto';
import { processClock, type Clock } from '@gwk/core/clock';
import { type RedisKeys, SENDS_MAXLEN, SENDS_WITH_MESSAGES_MAXLEN } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../platform/redis.js';

/** Longest wait for Redis. The command continues after it. */
const TIMEOUT_MS = 250;
/** An instance is notified at most once in this interval. Under load, every batch would notify each busy instance. */
const MIN_INTERVAL_MS = 10;
/** Interval for notifications with messages, which cause no claim: a client that waits for answers sends within 10 ms. */
const MIN_INTERVAL_WITH_MESSAGES_MS = 2;
/** An engine that leaves entries in its stream gets no messages for this time: it is offline or busy. */
const WITHOUT_MESSAGES_MS = 1_000;
/** The content of a message is kept for 24 hours at most, also for an instance without an engine. */
const STREAM_TTL_MS = 24 * 3_600_000;
const MAX_TRACKED_INSTANCES = 10_000;
/** Bound on unanswered commands, for a Redis that is connected and unresponsive. Further notifications are postponed. */
const MAX_PENDING_COMMANDS = 32;

/**
 * Adds all notifications of a batch in one command, because the client spends several times longer on a command than
 * Redis on an XADD. Each stream has three arguments: the message, the trace contexts and the encrypted messages ('' for
 * none). An error of one stream does not affect the others. Returns the places of streams that are too long for messages.
 */
const SCRIPT = `local long = {}
for place, stream in ipairs(KEYS) do
  local message, spans, messages = ARGV[3 * place - 2], ARGV[3 * place - 1], ARGV[3 * place]
  local fields = { 'm', message }
  if spans ~= '' then
    table.insert(fields, 't')
    table.insert(fields, spans)
  end
  if messages ~= '' then
    local length = redis.pcall('XLEN', stream)
    if type(length) == 'number' and length < ${SENDS_WITH_MESSAGES_MAXLEN} then
      table.insert(fields, 'n')
      table.insert(fields, messages)
    else
      table.insert(long, place)
    end
  end
  redis.pcall('XADD', stream, 'MAXLEN', '~', ${SENDS_MAXLEN}, '*', unpack(fields))
  if messages ~= '' and redis.pcall('PTTL', stream) == -1 then redis.pcall('PEXPIRE', stream, ${STREAM_TTL_MS}) end
end
return long`;
const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

export interface SendNotification {
  instanceId: string;
  messageId: string;
  /** Trace contexts of the notification's spans; usually none. */
  traceparents?: readonly string[];
  /** Encrypts all messages that the notification is about. Null, or absent: the engine must claim them. */
  messages?: (() => string | null) | null;
}

/**
 * Notifies engines through Redis streams that messages wait. The rows in Postgres are the queue: a lost notification
 * delays a message and never loses it. So no method rejects.
 */
export class SendNotifier {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #clock: Clock;
  /** By instance: time of the last notification. */
  readonly #notifiedAt = new Map<string, number>();
  /** By instance: the notification to send when its interval has passed. One stands for all that came meanwhile. */
  readonly #postponed = new Map<string, SendNotification>();
  #isFlushScheduled = false;
  /** By instance with a long stream: until when it gets no messages. */
  readonly #withoutMessages = new Map<string, number>();
  /** Commands that Redis has not answered. */
  #pendingCommands = 0;

  constructor(redis: Redis, keys: RedisKeys, clock: Clock = processClock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Resolves when Redis has answered or 250 ms have passed. Does not wait for postponed notifications. */
  notify(notifications: readonly SendNotification[]): Promise<void> {
    if (notifications.length === 0 || !this.#redis.isReady) return Promise.resolve();
    const now = this.#clock.now();
    const current = notifications.flatMap((notification) => this.#postpone(notification, now) ?? []);
    return this.#send(current);
  }

  /** @returns the notification to send at once, if it is not postponed */
  #postpone(notification: SendNotification, now: number): SendNotification | undefined {
    const { instanceId, traceparents = [] } = notification;
    const elapsed = now - (this.#notifiedAt.get(instanceId) ?? -Infinity);
    const messages = (this.#withoutMessages.get(instanceId) ?? 0) > now ? null : notification.messages;
    const interval =
      messages && !this.#postponed.has(instanceId) ? MIN_INTERVAL_WITH_MESSAGES_MS : MIN_INTERVAL_MS;
    // A traced notification is sent at once, because its spans end when it has been sent.
    if ((elapsed < interval || this.#isBusy()) && traceparents.length === 0) {
      // A postponed notification replaces others, whose messages are not known here.
      this.#postponed.set(instanceId, { ...notification, messages: null });
      this.#scheduleFlush();
      return undefined;
    }
    const replacesOther = this.#postponed.delete(instanceId);
    this.#recordTime(instanceId, now);
    return { ...notification, messages: replacesOther ? null : messages };
  }

  #isBusy(): boolean {
    return this.#pendingCommands >= MAX_PENDING_COMMANDS;
  }

  #scheduleFlush(): void {
    if (!this.#isFlushScheduled) this.#clock.after(MIN_INTERVAL_MS, () => this.#flush());
    this.#isFlushScheduled = true;
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#isBusy()) return this.#scheduleFlush();
    const notifications = [...this.#postponed.values()];
    this.#postponed.clear();
    const now = this.#clock.now();
    for (const { instanceId } of notifications) this.#recordTime(instanceId, now);
    if (this.#redis.isReady) void this.#send(notifications);
  }

  #recordTime(instanceId: string, now: number): void {
    if (this.#notifiedAt.size >= MAX_TRACKED_INSTANCES) this.#notifiedAt.clear();
    this.#notifiedAt.set(instanceId, now);
  }

  #send(notifications: readonly SendNotification[]): Promise<void> {
    if (notifications.length === 0) return Promise.resolve();
    this.#pendingCommands++;
    const script = this.#runScript({
      keys: notifications.map(({ instanceId }) => this.#keys.sends(instanceId)),
      arguments: notifications.flatMap(({ messageId, traceparents = [], messages }) => [
        messageId,
        traceparents.join(','),
        messages?.() ?? '',
      ]),
    });
    const sent = script.then((long) => {
      this.#recordLong(long.map((place) => notifications[place - 1]!.instanceId));
    });
    return new Promise((resolve) => {
      const cancel = this.#clock.after(TIMEOUT_MS, resolve);
      const settled = (): void => {
        this.#pendingCommands--;
        cancel();
        resolve();
      };
      sent.then(settled, settled);
    });
  }

  /** Sends the whole script if Redis does not have it, as after a restart. */
  async #runScript(given: { keys: string[]; arguments: string[] }): Promise<number[]> {
    try {
      return (await this.#redis.evalSha(SCRIPT_SHA, given)) as unknown as number[];
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return (await this.#redis.eval(SCRIPT, given)) as unknown as number[];
    }
  }

  #recordLong(instanceIds: readonly string[]): void {
    if (this.#withoutMessages.size >= MAX_TRACKED_INSTANCES) this.#withoutMessages.clear();
    const until = this.#clock.now() + WITHOUT_MESSAGES_MS;
    for (const id of instanceIds) this.#withoutMessages.set(id, until);
  }
}

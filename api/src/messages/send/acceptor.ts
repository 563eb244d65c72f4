import { Batcher } from '@gwk/core/batcher';
import type { Sealer } from '@gwk/core/encryption';
import { failpoint } from '@gwk/core/failpoints';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { MessageOut } from '@gwk/core/resources/message';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Database } from '../../database/database.js';
import { readSqlState } from '../../database/grouping.js';
import { messageMetrics } from '../../platform/metrics/messages.js';
import { keepContexts } from '../../platform/trace-contexts.js';
import { PolicyResolver } from '../policies.js';
import type { SendNotification, SendNotifier } from '../send-notifier.js';
import { AcceptCache } from './fast/accept-cache.js';
import { decideBatch, type Decision, type SendItem } from './decide.js';
import { gatherFacts, type Facts } from './gather.js';
import {
  createEntry,
  readItem,
  rebuildResponse,
  replayResponse,
  type EntryContext,
  type Sender,
  type SendInput,
} from './items.js';
import { NotifiedMessages } from './notified-messages.js';
import { BatchWriter, type TextCount, type WriteEntry } from './write.js';

declare module '../../http/services.js' {
  interface Services {
    acceptor: Acceptor;
  }
}

interface AcceptorOptions {
  database: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  /** Policy overrides from the environment. */
  environmentPolicy: PolicyOverrides;
  /** Creates message ids; by default UUIDv7 from the clock of this process. */
  newMessageId?: () => string;
}

export interface AcceptedMessage {
  /** Body of the 202 response. */
  message: MessageOut;
  /** The response belongs to an earlier request with the same idempotency key. */
  replayed: boolean;
}

/** Each retry follows a write by another request, so only a fault reaches this limit. */
const MAX_ATTEMPTS = 50;
const DEADLINE_MS = 4_500;
/** Each batch has a fixed cost, about that of four requests, so small batches wait for more. */
const LINGER = { minItems: 16, maxWaitMs: 4, idleTimeoutMs: 1 };
/** 64 clients that each wait for a response make two batches of this size, so one is written while the other fills. */
const TARGET_ITEMS = 32;
/** Postgres writes the first batch, the second waits behind it, and this process builds or answers the third. */
const PREDICTED_IN_FLIGHT = 3;
/** After one batch timed out on a lock, later batches do not wait for that lock as well. */
const SKIP_LOCKED_MS = 1_000;

interface Prediction {
  item: SendItem;
  facts: Facts;
}

type Result =
  | { kind: 'written'; message: MessageOut }
  | { kind: 'replay'; message: MessageOut }
  | { kind: 'refused'; problem: Problem }
  /** The facts were stale, or another request of the batch comes first. */
  | { kind: 'retry' };

/**
 * Accepts sends in batches, in three steps: gather the facts (one statement), decide by pure functions, write (one
 * statement). The write verifies the facts under locks. Requests with stale facts are gathered and decided again.
 *
 * The first attempt skips the gathering if the cache can predict the facts. See
 * docs/decisions/0006-optimistic-accept-decide-from-cache-verify-under-lock.md.
 */
export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #policies: PolicyResolver;
  readonly #cache = new AcceptCache();
  readonly #entryContext: EntryContext;
  readonly #notified: NotifiedMessages;
  readonly #predicted: Batcher<Prediction, Result>;
  readonly #gathered: Batcher<SendItem, Result>;
  /** Writes predicted batches, which rarely wait for locks, over one pipelined connection. */
  readonly #pipelinedWriter: BatchWriter;
  /** Writes gathered batches, which may wait for locks, over the pool. */
  readonly #pooledWriter: BatchWriter;

  constructor(options: AcceptorOptions) {
    const { database, sealer, newMessageId } = options;
    this.#options = options;
    this.#policies = new PolicyResolver(options.environmentPolicy);
    this.#entryContext = { sealer, cache: this.#cache, newMessageId };
    this.#notified = new NotifiedMessages(database, sealer);
    this.#pipelinedWriter = new BatchWriter({
      call: (sql, values) => database.callPipelined(sql, values),
      skipLockedMs: SKIP_LOCKED_MS,
    });
    this.#pooledWriter = new BatchWriter({
      call: (sql, values) => database.callFunction(sql, values),
      skipLockedMs: 0,
    });
    const common = {
      mayIsolate: wasRolledBack,
      deadlineMs: DEADLINE_MS,
      onTimeout: () => new Problem('internal-error', { retryAfter: 1 }),
    };
    this.#predicted = new Batcher({
      run: (batch) => this.#runPredicted(batch),
      linger: LINGER,
      targetItems: TARGET_ITEMS,
      inFlight: PREDICTED_IN_FLIGHT,
      ...common,
    });
    this.#gathered = new Batcher({ run: (batch) => this.#runGathered(batch), inFlight: 1, ...common });
  }

  /** @throws Problem */
  async accept(input: SendInput, sender: Sender): Promise<AcceptedMessage> {
    const item = readItem(this.#options.sealer, input, sender);
    if (!input.traceparent) return this.#accept(item);
    const span = tracing.child('accept', input.traceparent, {
      attributes: { 'gwk.message.type': item.draft.type },
    });
    item.traceparent = span.traceparent;
    try {
      const accepted = await this.#accept(item);
      span.set({ 'gwk.replayed': accepted.replayed });
      span.end();
      return accepted;
    } catch (error) {
      span.end(error instanceof Problem ? error.code : 'internal-error');
      throw error;
    }
  }

  async #accept(item: SendItem): Promise<AcceptedMessage> {
    const predictedFacts = this.#cache.predict(item);
    const since = performance.now();
    for (let attempt = 0; attempt < MAX_ATTEMPTS && performance.now() - since < DEADLINE_MS; attempt++) {
      const result = await (predictedFacts !== null && attempt === 0
        ? this.#predicted.submit({ item, facts: predictedFacts })
        : this.#gathered.submit(item));
      if (result.kind === 'retry') continue;
      if (result.kind === 'refused') throw result.problem;
      if (result.kind === 'replay') return { message: result.message, replayed: true };
      messageMetrics.accepted(item.draft.type);
      failpoint('api.accept.after-xadd');
      return { message: result.message, replayed: false };
    }
    throw new Problem('internal-error', { retryAfter: 1 });
  }

  async #runGathered(items: readonly SendItem[]): Promise<Result[]> {
    const facts = await gatherFacts(this.#options.database, items, this.#policies.massWindowMinutes);
    items.forEach((item, index) => this.#cache.storeFacts(item, facts[index]!));
    const decisions = this.#decide(items, facts);
    const { results, isComplete } = await this.#write(this.#pooledWriter, items, decisions);
    return items.map((item, index) => {
      return results[index] ?? this.#resolveUnwritten(item, facts[index]!, decisions[index]!, isComplete);
    });
  }

  /** A prediction can be wrong, so a batch returns only verified results. It never refuses a request. */
  async #runPredicted(batch: readonly Prediction[]): Promise<Result[]> {
    const items = batch.map(({ item }) => item);
    const facts = batch.map((prediction) => prediction.facts);
    const { results } = await this.#write(this.#pipelinedWriter, items, this.#decide(items, facts));
    return items.map((_, index) => results[index] ?? { kind: 'retry' });
  }

  #decide(items: readonly SendItem[], facts: readonly Facts[]): Decision[] {
    return decideBatch(items, facts, (factsOfOne) => this.#policies.resolve(factsOfOne));
  }

  /**
   * Writes the requests that were decided to be written, updates the cache and notifies the engines.
   * @returns a result for each request that was written or repeats one; `isComplete`: none of the others was stale
   */
  async #write(
    writer: BatchWriter,
    items: readonly SendItem[],
    decisions: readonly Decision[],
  ): Promise<{ results: (Result | undefined)[]; isComplete: boolean }> {
    const entries: WriteEntry[] = [];
    const indexes: number[] = [];
    decisions.forEach((decision, index) => {
      if (decision.do !== 'write') return;
      entries.push(createEntry(this.#entryContext, items[index]!, decision.plan));
      indexes.push(index);
    });
    const traceparents = tracing.on ? indexes.map((index) => items[index]!.traceparent) : null;
    if (traceparents) await this.#storeTraces(entries, traceparents);
    const { messageIds, texts } = await writer.write(entries);
    this.#cacheTextCounts(entries, texts);
    const isWritten = entries.map(({ messageId }, index) => messageId === messageIds[index]);
    const writtenEntries = entries.filter((_, index) => isWritten[index]);
    if (writtenEntries.length > 0) failpoint('api.accept.after-commit');
    for (const { request, plan } of writtenEntries) this.#cache.storeWritten(request, plan);
    this.#notifyEngines(writtenEntries, traceparents?.filter((_, index) => isWritten[index]) ?? NO_TRACES);
    const results = items.map<Result | undefined>(() => undefined);
    indexes.forEach((index, entryIndex) => {
      const messageId = messageIds[entryIndex]!;
      if (isWritten[entryIndex]) results[index] = { kind: 'written', message: entries[entryIndex]!.response };
      else if (messageId !== null)
        results[index] = { kind: 'replay', message: rebuildResponse(items[index]!, messageId) };
    });
    return { results, isComplete: !messageIds.includes(null) };
  }

  /** Returns the result of a request of a gathered batch that was not written. */
  #resolveUnwritten(item: SendItem, facts: Facts, decision: Decision, isComplete: boolean): Result {
    if (decision.do === 'replay') {
      return { kind: 'replay', message: replayResponse(this.#options.sealer, item, facts) };
    }
    if (decision.do === 'refuse' && !(decision.tentative && !isComplete)) {
      return { kind: 'refused', problem: decision.problem };
    }
    return { kind: 'retry' };
  }

  #cacheTextCounts(entries: readonly WriteEntry[], texts: readonly (TextCount | null)[]): void {
    texts.forEach((text, index) => {
      const { request, plan } = entries[index]!;
      if (text !== null) this.#cache.storeTextCount(request.fingerprint!, text, plan.mass!.minutes);
    });
  }

  /**
   * Sends one notification for each instance, because its engine claims everything that waits. The command goes to Redis
   * before the HTTP responses, which do not wait for its result. A lost notification only delays the messages.
   */
  #notifyEngines(entries: readonly WriteEntry[], traceparents: readonly (string | null)[]): void {
    const instances = new Map<string, { entries: WriteEntry[]; traces: (string | null)[] }>();
    entries.forEach((entry, index) => {
      if (entry.plan.releaseAt !== null) return;
      const { instanceId } = entry.request;
      if (!instances.has(instanceId)) instances.set(instanceId, { entries: [], traces: [] });
      const instance = instances.get(instanceId)!;
      instance.entries.push(entry);
      instance.traces.push(traceparents[index] ?? null);
    });
    const spans: Span[] = [];
    const notifications = [...instances].map(([instanceId, { entries, traces }]): SendNotification => {
      const started = traces.map((trace) => tracing.child('notify', trace, { kind: 'producer' }));
      const kept = started.filter(({ traceparent }) => traceparent !== null);
      spans.push(...kept);
      return {
        instanceId,
        messageId: entries[0]!.messageId,
        traceparents: kept.map(({ traceparent }) => traceparent!),
        messages: () => this.#notified.encrypt(entries, traces),
      };
    });
    const sent = this.#options.sendNotifier.notify(notifications);
    if (spans.length > 0) void sent.then(() => spans.forEach((span) => span.end()));
  }

  #storeTraces(entries: readonly WriteEntry[], traceparents: readonly (string | null)[]): Promise<void> {
    const contexts = entries.map(({ messageId }, index) => [messageId, traceparents[index]!] as const);
    return keepContexts(this.#options.database, contexts);
  }
}

const NO_TRACES: readonly null[] = [];

/** Whether Postgres reported an error and so rolled the statement back. The batch may be retried in parts. */
function wasRolledBack(error: unknown): boolean {
  const code = readSqlState(error);
  return code !== null && !/^(08|57|58|53)/.test(code);
}

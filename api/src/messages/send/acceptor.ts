import { Batcher } from '../../platform/batcher.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { failpoint } from '@gwk/core/process/failpoints';
import type { PolicyOverrides } from '../../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import type { AcceptedMessageOut } from '@gwk/core/resources/message';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Database } from '../../database/database.js';
import { readSqlState } from '../../database/grouping.js';
import { messageMetrics } from '../../platform/metrics/messages.js';
import { keepContexts } from '../../platform/trace-contexts.js';
import { PolicyResolver } from '../policies.js';
import type { SendNotification, SendNotifier } from '../send-notifier.js';
import { decideBatch, type Decision, type SendItem } from './decide.js';
import { gatherFacts } from './gather.js';
import {
  createEntries,
  readItem,
  replayResponse,
  type EntryContext,
  type Sender,
  type SendInput,
} from './items.js';
import { NotifiedMessages } from './notified-messages.js';
import { BatchWriter, type WriteEntry } from './write.js';

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
  message: AcceptedMessageOut;
  /** The response belongs to an earlier request with the same idempotency key. */
  replayed: boolean;
}

/** Each retry follows a write by another request, so only a fault reaches this limit. */
const MAX_ATTEMPTS = 50;
const DEADLINE_MS = 4_500;
/** Facts of one batch are gathered while another is written. */
const IN_FLIGHT = 2;
/** After one batch timed out on a lock, later batches do not wait for that lock as well. */
const SKIP_LOCKED_MS = 1_000;

type Result =
  | { kind: 'written'; message: AcceptedMessageOut }
  | { kind: 'replay'; message: AcceptedMessageOut }
  | { kind: 'refused'; problem: Problem }
  /** The facts were stale, or another request of the batch comes first. */
  | { kind: 'retry' };

/**
 * Accepts sends in batches, in three steps: gather the facts (one statement), decide by pure functions, write (one
 * statement). The write verifies the facts under locks. Requests with stale facts are gathered and decided again. See
 * docs/decisions/0049-gather-the-facts-of-every-send.md.
 */
export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #policies: PolicyResolver;
  readonly #entryContext: EntryContext;
  readonly #notified: NotifiedMessages;
  readonly #first: Batcher<SendItem, Result>;
  /** Requests with stale facts. They wait for locks, which first attempts skip after a timeout. */
  readonly #retries: Batcher<SendItem, Result>;

  constructor(options: AcceptorOptions) {
    const { database, sealer, newMessageId } = options;
    this.#options = options;
    this.#policies = new PolicyResolver(options.environmentPolicy);
    this.#entryContext = { sealer, newMessageId };
    this.#notified = new NotifiedMessages(database, sealer);
    this.#first = this.#openBatcher(IN_FLIGHT, SKIP_LOCKED_MS);
    this.#retries = this.#openBatcher(1, 0);
  }

  #openBatcher(inFlight: number, skipLockedMs: number): Batcher<SendItem, Result> {
    const writer = new BatchWriter(this.#options.database.callFunction, skipLockedMs);
    return new Batcher({
      run: (items) => this.#run(writer, items),
      inFlight,
      mayIsolate: wasRolledBack,
      deadlineMs: DEADLINE_MS,
      onTimeout: () => new Problem('internal-error', { retryAfter: 1 }),
    });
  }

  /** @throws Problem */
  async accept(input: SendInput, sender: Sender): Promise<AcceptedMessage> {
    const item = readItem(this.#options.sealer, input, sender);
    if (!input.traceparent) return this.#accept(item);
    const span = tracing.child('accept', input.traceparent, {
      attributes: { 'gwk.message.type': item.draft.type },
    });
    for (const one of [item, ...item.parts]) one.traceparent = span.traceparent;
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
    const since = performance.now();
    for (let attempt = 0; attempt < MAX_ATTEMPTS && performance.now() - since < DEADLINE_MS; attempt++) {
      const result = await (attempt === 0 ? this.#first : this.#retries).submit(item);
      if (result.kind === 'retry') continue;
      if (result.kind === 'refused') throw result.problem;
      if (result.kind === 'replay') return { message: result.message, replayed: true };
      for (const { draft } of [item, ...item.parts]) messageMetrics.accepted(draft.type);
      failpoint('api.accept.after-xadd');
      return { message: result.message, replayed: false };
    }
    throw new Problem('internal-error', { retryAfter: 1 });
  }

  async #run(writer: BatchWriter, requests: readonly SendItem[]): Promise<Result[]> {
    const { database, sealer } = this.#options;
    const items = requests.flatMap((request) => [request, ...request.parts]);
    const facts = await gatherFacts(database, items, this.#policies.massWindowMinutes);
    const decisions = decideBatch(items, facts, (factsOfOne) => this.#policies.resolve(factsOfOne));
    const entries = items.map((item, index) =>
      this.#plan(item, decisions.slice(index, index + 1 + item.parts.length)),
    );
    const planned = entries.flat();
    const traces = planned.map(({ messageId, request }) => [messageId, request.traceparent] as const);
    await keepContexts(database, traces);
    const written = new Set(await writer.write(planned));
    if (written.size > 0) failpoint('api.accept.after-commit');
    this.#notifyEngines([...written]);
    const isComplete = written.size === decisions.filter((decision) => decision.do === 'write').length;
    const results = decisions.map((decision, index): Result => {
      const [entry] = entries[index]!;
      if (entry && written.has(entry)) return { kind: 'written', message: entry.response };
      if (decision.do === 'replay')
        return { kind: 'replay', message: replayResponse(sealer, items[index]!, facts[index]!) };
      if (decision.do === 'refuse' && (isComplete || !decision.tentative))
        return { kind: 'refused', problem: decision.problem };
      return { kind: 'retry' };
    });
    return results.filter((_, index) => !items[index]!.isPart);
  }

  /** @param decisions from that of the item on. @returns nothing for a part, which its whole message plans */
  #plan(item: SendItem, decisions: readonly Decision[]): WriteEntry[] {
    if (item.isPart || decisions[0]!.do !== 'write') return [];
    const plans = decisions
      .slice(0, 1 + item.parts.length)
      .flatMap((decision) => (decision.do === 'write' ? [decision.plan] : []));
    return createEntries(this.#entryContext, item, plans);
  }

  /**
   * Sends one notification for each instance, because its engine claims everything that waits. The command goes to Redis
   * before the HTTP responses, which do not wait for its result. A lost notification only delays the messages.
   */
  #notifyEngines(written: readonly WriteEntry[]): void {
    const queued = written.filter(({ plan }) => plan.releaseAt === null);
    const spans: Span[] = [];
    const notifications = [...Map.groupBy(queued, ({ request }) => request.instanceId)].map(
      ([instanceId, entries]): SendNotification => {
        const traces = entries.map(({ request }) => request.traceparent);
        const started = traces.map((trace) => tracing.child('notify', trace, { kind: 'producer' }));
        const kept = started.filter(({ traceparent }) => traceparent !== null);
        spans.push(...kept);
        return {
          instanceId,
          messageId: entries[0]!.messageId,
          traceparents: kept.map(({ traceparent }) => traceparent!),
          messages: () => this.#notified.encrypt(entries, traces),
        };
      },
    );
    const sent = this.#options.sendNotifier.notify(notifications);
    if (spans.length > 0) void sent.then(() => spans.forEach((span) => span.end()));
  }
}

/** Whether Postgres reported an error and so rolled the statement back. The batch may be retried in parts. */
function wasRolledBack(error: unknown): boolean {
  const code = readSqlState(error);
  return code !== null && !/^(08|57|58|53)/.test(code);
}

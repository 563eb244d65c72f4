import { Batcher } from '@gwk/core/batcher';
import { failpoint } from '@gwk/core/failpoints';
import { newUuid, parseUuidTime } from '@gwk/core/ids';
import { normaliseText } from '@gwk/core/policy/mass-block';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { Sealer } from '@gwk/core/encryption';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Caller } from '../../accounts/caller.js';
import type { Database } from '../../database/database.js';
import { sqlStateOf } from '../../database/grouping.js';
import { makeRecordId } from '../../http/idempotency/record-id.js';
import { hashBodyWithAllKeys, readIdempotencyKey, RESPONSE_COLUMN } from '../../http/idempotency/store.js';
import { messageMetrics } from '../../platform/metrics/messages.js';
import { keepContexts } from '../../platform/trace-contexts.js';
import { sealContent } from '../content.js';
import { newWaMessageId } from '../wa-message-id.js';
import { answerOf } from './answer.js';
import { decideGroup, type Decision, type Plan, type Request } from './decide.js';
import type { SendNotifier, SendNotification } from '../send-notifier.js';
import { gather, SEND_ROUTE, type Facts } from './gather.js';
import { Memory } from './accept-cache.js';
import { PolicyResolver } from '../policies.js';
import { readDraft, type Draft } from './request.js';
import { Writer, type Entry, type Repeat, type TextCount } from './write.js';

declare module '../../http/services.js' {
  interface Services {
    acceptor: Acceptor;
  }
}

/**
 * Accepts sends: gathers what Postgres knows about a group of requests in one statement, decides each by pure
 * functions, and writes those accepted in one statement that proves, under locks, that what was decided on still
 * holds. Whatever the world moved under is gathered and decided again.
 *
 * Where this process can guess what would be gathered it saves itself the asking: such requests are decided by the
 * guess and only written, in groups of their own; a repeat of one that it has written is proved to be one by the same
 * statement. A wrong guess is one more case of a world that moved.
 */
export interface AcceptorOptions {
  database: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  /** Policy overrides of the environment. */
  environmentPolicy: PolicyOverrides;
  /** Makes the ids of messages (default: UUIDs of version 7 of this process). */
  newMessageId?: () => string;
}

export interface Accepted {
  /** JSON of the message (202); begins with its id. */
  body: string;
  /** The answer is that of an earlier request with the same key. */
  replayed: boolean;
}

/** Whoever sends, as its key says. */
export type Sender = Pick<Caller, 'accountId' | 'instances' | 'suspended'>;

interface Given {
  body: unknown;
  /** The `Idempotency-Key`, where there is one. */
  idempotencyKey: string | undefined;
  /** Of the request; null or absent: no trace of it is kept. */
  traceparent?: string | null;
}

/** A request moves on by every other one that is written before it: only a fault makes it run out of turns. */
const MAX_TURNS = 50;
const DEADLINE_MS = 4_500;
/** A group costs as much as four more of its items. */
const LINGER = { minItems: 16, maxWaitMs: 4, idleTimeoutMs: 1 };
/** More than half of what usually waits: of 64 who each wait for an answer, two groups. */
const TARGET_ITEMS = 32;
/** One is written in Postgres, the next stands behind it, and one is gathered here or answered. */
const IN_FLIGHT = 3;
/** What one group has waited for is left out by those that come after it: it is waited for apart. */
const CAREFUL_MS = 1_000;
const FINGERPRINT_BYTES = 16;
const NO_HASHES = { bodyHash: null, formerHashes: [] };

type Item = Request & { draft: Draft; traceparent: string | null };

interface Guess {
  item: Item;
  facts: Facts;
}

type Result =
  | { kind: 'written'; body: string }
  | { kind: 'replay'; body: string }
  | { kind: 'refused'; problem: Problem }
  | { kind: 'again' };

export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #policies: PolicyResolver;
  readonly #memory = new Memory();
  readonly #guessed: Batcher<Guess, Result>;
  readonly #gathered: Batcher<Item, Result>;
  /** Those of whom much is known stand in one line; whoever has to be looked at, and waits for others, stands apart. */
  readonly #inLine: Writer;
  readonly #apart: Writer;

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.#policies = new PolicyResolver(options.environmentPolicy);
    const { database } = options;
    this.#inLine = new Writer({
      call: (sql, values) => database.callInLine(sql, values),
      carefulMs: CAREFUL_MS,
    });
    this.#apart = new Writer({ call: (sql, values) => database.callFunction(sql, values), carefulMs: 0 });
    const common = {
      mayIsolate: wasRolledBack,
      deadlineMs: DEADLINE_MS,
      onTimeout: () => new Problem('internal-error', { retryAfter: 1 }),
    };
    this.#guessed = new Batcher({
      run: (group) => this.#runGuessed(group),
      linger: LINGER,
      targetItems: TARGET_ITEMS,
      inFlight: IN_FLIGHT,
      ...common,
    });
    this.#gathered = new Batcher({ run: (group) => this.#runGathered(group), inFlight: 1, ...common });
  }

  /** @throws Problem */
  async accept(given: Given, sender: Sender): Promise<Accepted> {
    const item = this.#read(given, sender);
    if (!given.traceparent) return this.#accept(item);
    const span = tracing.child('accept', given.traceparent, {
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

  async #accept(item: Item): Promise<Accepted> {
    const guess = this.#memory.guess(item);
    const since = performance.now();
    for (let turn = 0; turn < MAX_TURNS && performance.now() - since < DEADLINE_MS; turn++) {
      const guessing = guess !== null && turn === 0;
      const result = await (guessing
        ? this.#guessed.submit({ item, facts: guess })
        : this.#gathered.submit(item));
      if (result.kind === 'again') continue;
      if (result.kind === 'refused') throw result.problem;
      if (result.kind === 'replay') return { body: result.body, replayed: true };
      messageMetrics.accepted(item.draft.type);
      failpoint('api.accept.after-xadd');
      return { body: result.body, replayed: false };
    }
    throw new Problem('internal-error', { retryAfter: 1 });
  }

  #read({ body, idempotencyKey }: Given, { accountId, instances, suspended }: Sender): Item {
    const key = readIdempotencyKey(idempotencyKey);
    if (suspended) throw new Problem('account-suspended');
    const draft = readDraft(body);
    const { instanceId, recipient, text, replyTo, mediaId } = draft;
    if (instanceId === null || (instances !== null && !instances.has(instanceId)))
      throw new Problem('not-found');
    const { sealer } = this.#options;
    return {
      draft,
      accountId,
      instanceId,
      recipient,
      recipientKey: `${instanceId} ${recipient.name}`,
      recordId: key === null ? null : makeRecordId({ accountId, route: SEND_ROUTE, key }),
      ...(key === null ? NO_HASHES : hashBodyWithAllKeys(sealer, accountId, body)),
      fingerprint: text === null ? null : this.#fingerprint(accountId, instanceId, text),
      replyTo,
      mediaId,
      visible: instances,
      traceparent: null,
    };
  }

  #fingerprint(accountId: string, instanceId: string, text: string): string {
    const named = `${instanceId}\n${normaliseText(text)}`;
    const whole = this.#options.sealer.fingerprint(accountId, 'mass send', named);
    return whole.toString('hex', 0, FINGERPRINT_BYTES);
  }

  async #runGathered(group: readonly Item[]): Promise<Result[]> {
    const facts = await gather(this.#options.database, group, this.#policies.massMinutes);
    group.forEach((item, index) => this.#memory.learn(item, facts[index]!));
    const decisions = this.#decide(group, facts);
    const { results, moved } = await this.#write(this.#apart, group, decisions, []);
    return group.map(
      (item, index) => results[index] ?? this.#unwritten(item, facts[index]!, decisions[index]!, moved),
    );
  }

  /** By a guess nothing is refused: only what is written, and what repeats, has been proved. */
  async #runGuessed(group: readonly Guess[]): Promise<Result[]> {
    const items = group.map(({ item }) => item);
    const decisions = this.#decide(
      items,
      group.map(({ facts }) => facts),
    );
    const repeats: Repeat[] = [];
    const places: number[] = [];
    decisions.forEach((decision, index) => {
      if (decision.do !== 'replay') return;
      const { recordMessage, accountVersion } = group[index]!.facts;
      repeats.push({
        request: items[index]!,
        messageId: recordMessage!,
        accountVersion: accountVersion!,
      });
      places.push(index);
    });
    const { results, proved } = await this.#write(this.#inLine, items, decisions, repeats);
    places.forEach((index, place) => {
      const body = this.#firstAnswer(items[index]!, group[index]!.facts);
      if (proved[place]) results[index] = { kind: 'replay', body };
    });
    return items.map((_, index) => results[index] ?? { kind: 'again' });
  }

  #decide(group: readonly Item[], facts: readonly Facts[]): Decision[] {
    return decideGroup(group, facts, (seen) => this.#policies.resolve(seen));
  }

  /** @returns results of those that were written; `moved`: not all that were to be written were */
  async #write(
    writer: Writer,
    group: readonly Item[],
    decisions: readonly Decision[],
    repeats: readonly Repeat[],
  ): Promise<{ results: (Result | undefined)[]; proved: readonly boolean[]; moved: boolean }> {
    const entries: Entry[] = [];
    const places: number[] = [];
    decisions.forEach((decision, index) => {
      if (decision.do !== 'write') return;
      entries.push(this.#entry(group[index]!, decision.plan));
      places.push(index);
    });
    if (tracing.on) {
      const traced = places.map((index) => group[index]!);
      await this.#keepTraces(entries, traced);
    }
    const { written, texts, proved } = await writer.write(entries, repeats);
    this.#learnTexts(entries, texts);
    const done = entries.filter((_, place) => written[place]);
    if (done.length > 0) failpoint('api.accept.after-commit');
    for (const { request, plan, messageId } of done) this.#memory.learnWritten(request, plan, messageId);
    this.#ring(done, tracing.on ? tracesOf(group, places, written) : NO_TRACES);
    const results = group.map<Result | undefined>(() => undefined);
    places.forEach((index, place) => {
      if (written[place]) results[index] = { kind: 'written', body: entries[place]!.body };
    });
    return { results, proved, moved: done.length < entries.length };
  }

  #learnTexts(entries: readonly Entry[], texts: readonly (TextCount | null)[]): void {
    texts.forEach((text, index) => {
      const { request, plan } = entries[index]!;
      if (text !== null) this.#memory.learnText(request.fingerprint!, text, plan.mass!.minutes);
    });
  }

  /**
   * One bell for an instance says all: its engine claims whatever waits. Redis has been told before the answers go out,
   * and nobody waits for what it says: a bell that is lost delays, as it does where this process ends before it.
   */
  #ring(written: readonly Entry[], traced: readonly (string | null)[]): void {
    const bells = new Map<string, SendNotification & { traceparents: string[] }>();
    const spans: Span[] = [];
    written.forEach(({ plan, request: { instanceId }, messageId }, index) => {
      if (plan.releaseAt !== null) return;
      let bell = bells.get(instanceId);
      if (!bell) bells.set(instanceId, (bell = { instanceId, messageId, traceparents: [] }));
      const span = tracing.child('notify', traced[index], { kind: 'producer' });
      if (span.traceparent === null) return;
      bell.traceparents.push(span.traceparent);
      spans.push(span);
    });
    const rung = this.#options.sendNotifier.notify([...bells.values()]);
    if (spans.length > 0) void rung.then(() => spans.forEach((span) => span.end()));
  }

  #keepTraces(entries: readonly Entry[], items: readonly Item[]): Promise<void> {
    const contexts = entries.map(({ messageId }, index) => [messageId, items[index]!.traceparent] as const);
    return keepContexts(this.#options.database, contexts);
  }

  /** `moved`: of the group's other requests, not all that were to be written were. */
  #unwritten(item: Item, facts: Facts, decision: Decision, moved: boolean): Result {
    if (decision.do === 'replay') return { kind: 'replay', body: this.#firstAnswer(item, facts) };
    if (decision.do === 'refuse' && !(decision.tentative && moved)) {
      return { kind: 'refused', problem: decision.problem };
    }
    return { kind: 'again' };
  }

  #firstAnswer({ accountId, instanceId, draft: { to, type } }: Item, facts: Facts): string {
    if (facts.recordResponse === null) {
      return answerOf({ messageId: facts.recordMessage!, instanceId, to, type, releaseAt: null });
    }
    return this.#options.sealer.open(accountId, RESPONSE_COLUMN, facts.recordResponse).toString('utf8');
  }

  #entry(request: Item, plan: Plan): Entry {
    const { sealer, newMessageId = newUuid } = this.#options;
    const { accountId, instanceId, recordId, draft } = request;
    const { to, type, content, prepared } = draft;
    const messageId = newMessageId();
    const body = answerOf({ messageId, instanceId, to, type, releaseAt: plan.releaseAt });
    const keep = recordId !== null && plan.releaseAt !== null;
    return {
      request,
      plan,
      messageId,
      createdAt: parseUuidTime(messageId),
      to,
      type,
      prepared,
      waMessageId: newWaMessageId(),
      text: plan.mass?.room ? this.#memory.textOf(request.fingerprint!, plan.mass.minutes) : null,
      contentSealed: sealContent(sealer, instanceId, JSON.stringify(content)),
      body,
      responseSealed: keep ? sealer.seal(accountId, RESPONSE_COLUMN, body) : null,
    };
  }
}

const NO_TRACES: readonly null[] = [];

/** Of those that were written. */
function tracesOf(
  group: readonly Item[],
  places: readonly number[],
  written: readonly boolean[],
): (string | null)[] {
  return places.filter((_, place) => written[place]).map((index) => group[index]!.traceparent);
}

/** Postgres answered, and so undid, the statement: it may be tried again in parts. */
function wasRolledBack(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== null && !/^(08|57|58|53)/.test(code);
}

import { Batcher } from '../platform/batcher.js';
import type { EngineRequest, EngineResponse, LeaseIdentity, Outcome } from '@gwk/core/protocol/engine';
import { Prisma } from '../generated/prisma/client.js';
import {
  applyStatusUpdates,
  readFacts,
  type MessageRow,
  type MessageUpdates,
} from '../message-status/apply-status.js';
import type { InternalDeps } from './dependencies.js';
import type { EngineCaller } from '../fencing/fence.js';
import { LINGER_OUTCOMES, isRolledBack } from '../database/grouping.js';
import type { MessageCache } from './message-cache.js';
import { RefusalError, type LeaseRefusal } from '../fencing/refusal.js';

interface OutcomeItem extends LeaseIdentity {
  instanceId: string;
  outcome: Outcome;
}

/** Facts of the message of the item at this place (from 1). */
type NamedRow = MessageRow & { number: number };

interface Recorded {
  refusal: LeaseRefusal;
  /** Whether the instance has messages to claim. */
  waiting: boolean;
}

/**
 * Records the outcomes that engines report, in batches over all engines. Each outcome is one item, which bounds the batches. A
 * repeated call has no effect on outcomes that were recorded before.
 */
export class Outcomes {
  readonly #batcher = new Batcher<OutcomeItem, Recorded>({
    run: (items) => this.#recordAll(items),
    linger: LINGER_OUTCOMES,
    mayIsolate: isRolledBack,
  });

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: MessageCache,
  ) {}

  async record(
    caller: EngineCaller,
    request: EngineRequest<'outcomes'>,
  ): Promise<EngineResponse<'outcomes'>> {
    const { instanceId } = caller;
    const { epoch, holder, outcomes } = request;
    const recorded = await Promise.all(
      outcomes.map((outcome) => this.#batcher.submit({ instanceId, epoch, holder, outcome })),
    );
    // Outcomes of a deleted instance were recorded too.
    if (recorded.some(({ refusal }) => refusal === 'fenced')) throw new RefusalError('fenced');
    return { waiting: recorded.some(({ waiting }) => waiting) };
  }

  async #recordAll(items: readonly OutcomeItem[]): Promise<Recorded[]> {
    const facts = await this.#factsOf(items);
    const messages = groupUpdates(items, facts);
    const { queryRows } = this.deps.database;
    const deps = { ...this.deps, queryRows };
    const { changed, answers } = await applyStatusUpdates(deps, { messages, facts, callers: items });
    for (const row of changed) this.known.remember(row);
    return answers;
  }

  /** Reads the facts of messages that are not cached; a batch of cached messages needs one statement only. */
  async #factsOf(items: readonly OutcomeItem[]): Promise<NamedRow[]> {
    const facts: NamedRow[] = [];
    const asked: (OutcomeItem & { number: number })[] = [];
    items.forEach((item, index) => {
      const number = index + 1;
      const row = this.#recall(item);
      if (row) facts.push({ ...row, number });
      else asked.push({ ...item, number });
    });
    if (asked.length === 0) return facts;
    const ids = Prisma.sql`gwk_find_messages(
      ${asked.map(({ outcome }) => ('message_id' in outcome ? outcome.message_id : null))}::uuid[],
      ${asked.map(({ instanceId }) => instanceId)}::uuid[], NULL,
      ${asked.map(({ outcome }) => ('wa_message_id' in outcome ? outcome.wa_message_id : null))}::text[])`;
    // Last, so that fresh facts win if a message occurs twice.
    for (const row of await readFacts(this.deps.database.queryRows, ids)) {
      const { number, instanceId } = asked[row.number - 1]!;
      // An engine cannot change messages of other instances by their ids.
      if (row.instanceId === instanceId) facts.push({ ...row, number });
    }
    return facts;
  }

  /** Outcomes that depend on the claim need fresh facts: the cache has facts of the message only. */
  #recall({ instanceId, outcome }: OutcomeItem): MessageRow | undefined {
    const onMessage = outcome.kind === 'sent' || outcome.kind === 'receipt';
    return onMessage ? this.known.recall(instanceId, outcome) : undefined;
  }
}

/** Groups the status updates by message and lease, in their order: of two leases that report about a message, one is fenced. */
function groupUpdates(items: readonly OutcomeItem[], facts: readonly NamedRow[]): MessageUpdates[] {
  const found = new Map(facts.map((row) => [row.number, row.id]));
  const updates = new Map<string, MessageUpdates>();
  items.forEach(({ outcome, epoch, holder }, index) => {
    const place = index + 1;
    const messageId = found.get(place);
    if (messageId === undefined) return;
    const name = `${messageId} ${epoch} ${holder}`;
    const known = updates.get(name);
    const traceparent = 'traceparent' in outcome ? outcome.traceparent : undefined;
    if (known) known.updates.push(outcome);
    else updates.set(name, { place, messageId, updates: [outcome], traceparent });
  });
  return [...updates.values()];
}

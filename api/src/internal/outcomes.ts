import { Batcher } from '@gwk/core/batcher';
import type { EngineRequest, LeaseName, Outcome } from '@gwk/core/protocol/engine';
import { applyFindings, type FactsRow, type Learnt } from '../messages/changes/apply.js';
import type { Finding } from '../messages/changes/decide.js';
import type { EngineCaller, InternalDeps } from './deps.js';
import { isUndone } from './grouping.js';
import { RefusalError, type Verdict } from './refusal.js';

/**
 * What engines report of messages, in groups over all engines. Receipts name messages by the network's id: they are
 * looked for among those of the last days first, where nearly all are.
 */
interface OutcomesItem extends LeaseName {
  instanceId: string;
  outcomes: Outcome[];
}

/** A finding of a group and the message it is about, by one id or the other. */
interface Reported {
  place: number;
  messageId: string | null;
  waMessageId: string | null;
  finding: Finding;
}

export class Outcomes {
  readonly #groups: Batcher<OutcomesItem, Verdict>;

  constructor(private readonly deps: InternalDeps) {
    this.#groups = new Batcher({ run: (items) => this.#recordAll(items), mayIsolate: isUndone });
  }

  async record(caller: EngineCaller, request: EngineRequest<'outcomes'>): Promise<void> {
    const { epoch, holder, outcomes } = request;
    const verdict = await this.#groups.submit({ instanceId: caller.instanceId, epoch, holder, outcomes });
    // What has left a deleted instance was recorded all the same.
    if (verdict === 'fenced') throw new RefusalError(verdict);
  }

  async #recordAll(items: readonly OutcomesItem[]): Promise<Verdict[]> {
    const callers = [
      items.map((item) => item.instanceId),
      items.map((item) => item.epoch),
      items.map((item) => item.holder),
    ] as const;
    const learnt = await this.#locate(items, items.flatMap(reportedBy));
    let verdicts: Verdict[] | undefined;
    const write = async (changes: string, events: string): Promise<ReadonlySet<string>> => {
      const [row] = await this.deps.database.$queryRaw<{ verdicts: Verdict[]; made: string[] }[]>`
        SELECT * FROM gwk_record_outcomes(${callers[0]}::uuid[], ${callers[1]}::integer[], ${callers[2]}::uuid[],
          ${changes}::jsonb, ${events}::jsonb)`;
      verdicts = row!.verdicts;
      const settled = learnt.filter(({ place }) => verdicts![place - 1] === 'fenced');
      return new Set([...row!.made, ...settled.map(({ messageId }) => messageId)]);
    };
    const holds = (place: number, row: FactsRow): boolean => {
      const item = items[place - 1]!;
      return row.claim_epoch === item.epoch && row.claim_holder === item.holder;
    };
    await applyFindings(this.deps, learnt, holds, write);
    // A group that changes nothing is told of its leases all the same.
    if (!verdicts) await write('[]', '[]');
    return verdicts!;
  }

  /**
   * Findings by message, in the order in which they came. Messages of other instances are not found, nor any for a
   * caller who is fenced by now: all that is found of one instance is found for one lease.
   */
  async #locate(items: readonly OutcomesItem[], reported: readonly Reported[]): Promise<Learnt[]> {
    const rows = await this.#find(items, reported);
    const found = new Map(rows.map((row) => [row.number, row.message_id]));
    const learnt = new Map<string, Learnt>();
    reported.forEach(({ place, finding }, index) => {
      const messageId = found.get(index + 1);
      if (messageId === undefined) return;
      const known = learnt.get(messageId);
      if (known) known.findings.push(finding);
      else learnt.set(messageId, { place, messageId, findings: [finding] });
    });
    return [...learnt.values()];
  }

  #find(
    items: readonly OutcomesItem[],
    reported: readonly Reported[],
  ): Promise<{ number: number; message_id: string }[]> {
    return this.deps.database.$queryRaw`
      SELECT * FROM gwk_find_messages(
        ${reported.map(({ place }) => items[place - 1]!.instanceId)}::uuid[],
        ${reported.map(({ place }) => items[place - 1]!.epoch)}::integer[],
        ${reported.map(({ place }) => items[place - 1]!.holder)}::uuid[],
        ${reported.map(({ messageId }) => messageId)}::uuid[],
        ${reported.map(({ waMessageId }) => waMessageId)}::text[])`;
  }
}

function reportedBy(item: OutcomesItem, index: number): Reported[] {
  return item.outcomes.map((outcome) => ({
    place: index + 1,
    messageId: outcome.kind === 'receipt' ? null : outcome.message_id,
    waMessageId: outcome.kind === 'receipt' ? outcome.wa_message_id : null,
    finding: findingOf(outcome),
  }));
}

function findingOf(outcome: Outcome): Finding {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent', at: new Date(outcome.at), renderedAs: outcome.rendered_as };
    case 'failed':
      return { kind: 'failed', at: new Date(outcome.at), error: outcome.error };
    case 'returned':
      return { kind: 'returned' };
    case 'receipt':
      return {
        kind: 'receipt',
        at: new Date(outcome.at),
        status: outcome.status,
        played: outcome.played ?? false,
      };
  }
}

import { Batcher } from '@gwk/core/batcher';
import type { EngineRequest, LeaseName, Outcome } from '@gwk/core/protocol/engine';
import { applyFindings, type FactsRow, type Learnt } from '../messages/changes/apply.js';
import type { Finding } from '../messages/changes/decide.js';
import type { EngineCaller, InternalDeps } from './deps.js';
import { isUndone } from './grouping.js';
import { RefusalError, type Verdict } from './refusal.js';

/**
 * What engines report of messages, in groups over all engines: one outcome is one item, so that a group stays small
 * however much a call brings. Repeating a call in which some were recorded changes nothing of those.
 */
interface OutcomeItem extends LeaseName {
  instanceId: string;
  outcome: Outcome;
}

export class Outcomes {
  readonly #groups: Batcher<OutcomeItem, Verdict>;

  constructor(private readonly deps: InternalDeps) {
    this.#groups = new Batcher({ run: (items) => this.#recordAll(items), mayIsolate: isUndone });
  }

  async record(caller: EngineCaller, request: EngineRequest<'outcomes'>): Promise<void> {
    const { instanceId } = caller;
    const { epoch, holder, outcomes } = request;
    const verdicts = await Promise.all(
      outcomes.map((outcome) => this.#groups.submit({ instanceId, epoch, holder, outcome })),
    );
    // What has left a deleted instance was recorded all the same.
    if (verdicts.includes('fenced')) throw new RefusalError('fenced');
  }

  async #recordAll(items: readonly OutcomeItem[]): Promise<Verdict[]> {
    const callers = [
      items.map((item) => item.instanceId),
      items.map((item) => item.epoch),
      items.map((item) => item.holder),
    ] as const;
    const learnt = await this.#locate(items);
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
  async #locate(items: readonly OutcomeItem[]): Promise<Learnt[]> {
    const rows = await this.#find(items);
    const found = new Map(rows.map((row) => [row.number, row.message_id]));
    const learnt = new Map<string, Learnt>();
    items.forEach(({ outcome }, index) => {
      const place = index + 1;
      const messageId = found.get(place);
      if (messageId === undefined) return;
      const known = learnt.get(messageId);
      const traceparent = 'traceparent' in outcome ? outcome.traceparent : undefined;
      if (known) known.findings.push(findingOf(outcome));
      else learnt.set(messageId, { place, messageId, findings: [findingOf(outcome)], traceparent });
    });
    return [...learnt.values()];
  }

  #find(items: readonly OutcomeItem[]): Promise<{ number: number; message_id: string }[]> {
    const outcomes = items.map(({ outcome }) => outcome);
    return this.deps.database.$queryRaw`
      SELECT * FROM gwk_find_messages(
        ${items.map((item) => item.instanceId)}::uuid[], ${items.map((item) => item.epoch)}::integer[],
        ${items.map((item) => item.holder)}::uuid[],
        ${outcomes.map((outcome) => (outcome.kind === 'receipt' ? null : outcome.message_id))}::uuid[],
        ${outcomes.map((outcome) => (outcome.kind === 'receipt' ? outcome.wa_message_id : null))}::text[])`;
  }
}

function findingOf(outcome: Outcome): Finding {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent', at: new Date(outcome.at), renderedAs: outcome.rendered_as };
    case 'failed':
      return { kind: 'failed', at: new Date(outcome.at), error: outcome.error };
    case 'returned':
      return { kind: 'returned', unsent: outcome.unsent ?? false };
    case 'receipt':
      return {
        kind: 'receipt',
        at: new Date(outcome.at),
        status: outcome.status,
        played: outcome.played ?? false,
      };
  }
}

import { Batcher } from '@gwk/core/batcher';
import type { EngineRequest, EngineResponse, LeaseName } from '@gwk/core/protocol/engine';
import { openBuilt, sealBuilt } from '../messages/content.js';
import type { EngineCaller, InternalDeps } from './deps.js';
import { isUndone } from './grouping.js';
import { RefusalError, type Verdict } from './refusal.js';

/**
 * The encoded form of a message, kept before its first stanza (design: built once). What was kept first stays; an
 * engine that brings other bytes is not told that they were stored, and so may not send them.
 */
interface BuiltItem extends LeaseName {
  instanceId: string;
  messages: { messageId: string; built: Buffer; renderedAs: string | null }[];
}

interface Stored {
  verdict: Verdict;
  stored: string[];
}

interface BuiltRow {
  place: number;
  verdict: Verdict;
  message_id: string | null;
  kept: Uint8Array | null;
}

export class BuiltMessages {
  readonly #groups: Batcher<BuiltItem, Stored>;

  constructor(private readonly deps: InternalDeps) {
    this.#groups = new Batcher({ run: (items) => this.#storeAll(items), mayIsolate: isUndone });
  }

  async store(caller: EngineCaller, request: EngineRequest<'built'>): Promise<EngineResponse<'built'>> {
    const { epoch, holder } = request;
    // The last of a message that is named twice: one row cannot be written twice by one statement.
    const messages = new Map(
      request.messages.map((message) => [
        message.message_id,
        {
          messageId: message.message_id,
          built: Buffer.from(message.built, 'base64'),
          renderedAs: message.rendered_as,
        },
      ]),
    );
    const { verdict, stored } = await this.#groups.submit({
      instanceId: caller.instanceId,
      epoch,
      holder,
      messages: [...messages.values()],
    });
    if (verdict) throw new RefusalError(verdict);
    return { stored };
  }

  async #storeAll(items: readonly BuiltItem[]): Promise<Stored[]> {
    const { database, sealer } = this.deps;
    const entries = items.flatMap((item, index) =>
      item.messages.map((message) => ({ ...message, place: index + 1, instanceId: item.instanceId })),
    );
    const rows = await database.$queryRaw<BuiltRow[]>`
      SELECT * FROM gwk_store_built(
        ${items.map((item) => item.instanceId)}::uuid[], ${items.map((item) => item.epoch)}::integer[],
        ${items.map((item) => item.holder)}::uuid[], ${entries.map((entry) => entry.place)}::integer[],
        ${entries.map((entry) => entry.messageId)}::uuid[],
        ${entries.map((entry) => sealBuilt(sealer, entry.instanceId, entry.built))}::bytea[],
        ${entries.map((entry) => entry.renderedAs)}::text[])`;
    const answers: Stored[] = items.map(() => ({ verdict: null, stored: [] }));
    for (const row of rows) {
      const answer = answers[row.place - 1]!;
      if (row.message_id === null) answer.verdict = row.verdict;
      else if (this.#same(row, items[row.place - 1]!)) answer.stored.push(row.message_id);
    }
    return answers;
  }

  #same(row: BuiltRow, item: BuiltItem): boolean {
    if (!row.kept) return true;
    const given = item.messages.find((message) => message.messageId === row.message_id);
    const same = given?.built.equals(openBuilt(this.deps.sealer, item.instanceId, row.kept)) ?? false;
    if (!same) this.deps.log.error({ message: row.message_id }, 'an engine built a message anew');
    return same;
  }
}

import { Batcher } from '@gwk/core/batcher';
import type { SentMenu } from '@gwk/core/menus/sent-menu';
import { resolvePolicy } from '@gwk/core/policy/policy';
import type { EngineRequest, EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import { openBuilt, sealBuilt, sealMenu } from '../messages/content.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { LINGER, isUndone } from '../database/grouping.js';
import type { KnownMessages } from './known-messages.js';
import { RefusalError, type LeaseRefusal } from './refusal.js';

/**
 * The encoded form of a message, kept before its first stanza (design: built once). What was kept first stays; an
 * engine that brings other bytes is not told that they were stored, and so may not send them.
 */
interface BuiltItem extends LeaseIdentity {
  instanceId: string;
  messageId: string;
  built: Buffer;
  renderedAs: string | null;
  menu: SentMenu | null;
}

interface Stored {
  refusal: LeaseRefusal;
  stored: boolean;
}

interface BuiltRow {
  place: number;
  refusal: LeaseRefusal;
  /** The caller's lease has the message claimed. */
  held: boolean;
  existing: Uint8Array | null;
}

export class BuiltMessages {
  readonly #groups: Batcher<BuiltItem, Stored>;

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: KnownMessages,
  ) {
    this.#groups = new Batcher({
      run: (items) => this.#storeAll(items),
      linger: LINGER,
      mayIsolate: isUndone,
    });
  }

  async store(caller: EngineCaller, request: EngineRequest<'built'>): Promise<EngineResponse<'built'>> {
    const { instanceId } = caller;
    const { epoch, holder, messages } = request;
    const answers = await Promise.all(
      messages.map(async ({ message_id: messageId, built, rendered_as: renderedAs, menu = null }) => {
        const bytes = Buffer.from(built, 'base64');
        const item = { instanceId, epoch, holder, messageId, built: bytes, renderedAs, menu };
        return { messageId, ...(await this.#groups.submit(item)) };
      }),
    );
    const refused = answers.find(({ refusal }) => refusal);
    if (refused?.refusal) throw new RefusalError(refused.refusal);
    return { stored: answers.filter(({ stored }) => stored).map(({ messageId }) => messageId) };
  }

  async #storeAll(items: readonly BuiltItem[]): Promise<Stored[]> {
    const { database, sealer, environmentPolicy } = this.deps;
    const levels = { environment: environmentPolicy, account: {}, instance: {} };
    const { menu_ttl_hours: menuHours } = resolvePolicy(levels, { warmingUp: false });
    // Its rendering counts the version of a message.
    for (const { messageId, renderedAs } of items) if (renderedAs !== null) this.known.forget(messageId);
    const rows = await database.$queryRaw<BuiltRow[]>`
      SELECT * FROM gwk_store_built(
        ${items.map((item) => item.instanceId)}::uuid[], ${items.map((item) => item.epoch)}::integer[],
        ${items.map((item) => item.holder)}::uuid[], ${items.map((item) => item.messageId)}::uuid[],
        ${items.map((item) => sealBuilt(sealer, item.instanceId, item.built))}::bytea[],
        ${items.map((item) => item.renderedAs)}::text[], ${this.#menusOf(items)}::jsonb, ${menuHours}::integer)`;
    return rows.map(({ place, refusal, held, existing }) => {
      return { refusal, stored: held && this.#same(items[place - 1]!, existing) };
    });
  }

  #menusOf(items: readonly BuiltItem[]): string {
    const { sealer } = this.deps;
    const menus = items.flatMap(({ menu, messageId, instanceId }) =>
      menu
        ? [
            {
              message_id: messageId,
              kind: menu.kind,
              mode: menu.mode,
              options: sealMenu(sealer, instanceId, menu).toString('base64'),
            },
          ]
        : [],
    );
    return JSON.stringify(menus);
  }

  #same(item: BuiltItem, existing: Uint8Array | null): boolean {
    if (!existing) return true;
    const same = item.built.equals(openBuilt(this.deps.sealer, item.instanceId, existing));
    if (!same) this.deps.log.error({ message: item.messageId }, 'an engine built a message anew');
    return same;
  }
}

import { Batcher } from '@gwk/core/batcher';
import type { SentMenu, EngineRequest, EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import { resolvePolicy } from '@gwk/core/policy/policy';
import { openBuilt, sealBuilt, sealMenu } from '../messages/content.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { fence, leaseArrays } from './fence.js';
import { LINGER, isRolledBack } from '../database/grouping.js';
import type { MessageCache } from './message-cache.js';
import { RefusalError, type LeaseRefusal } from './refusal.js';

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
  /** Whether the caller's lease has claimed the message. */
  held: boolean;
  existing: Uint8Array | null;
}

/**
 * Stores the encoded form of a message before its first stanza, so that every resend has the same bytes
 * (docs/architecture.md). The first stored form stays. An engine with other bytes gets no confirmation and may not send them.
 */
export class BuiltMessages {
  readonly #batcher: Batcher<BuiltItem, Stored>;

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: MessageCache,
  ) {
    this.#batcher = new Batcher({
      run: (items) => this.#storeAll(items),
      linger: LINGER,
      mayIsolate: isRolledBack,
    });
  }

  async store(caller: EngineCaller, request: EngineRequest<'built'>): Promise<EngineResponse<'built'>> {
    const { instanceId } = caller;
    const { epoch, holder, messages } = request;
    const answers = await Promise.all(
      messages.map(async ({ message_id: messageId, built, rendered_as: renderedAs, menu = null }) => {
        const bytes = Buffer.from(built, 'base64');
        const item = { instanceId, epoch, holder, messageId, built: bytes, renderedAs, menu };
        return { messageId, ...(await this.#batcher.submit(item)) };
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
    // Storing the rendering changes the version of the message, so cached facts are stale.
    for (const { messageId, renderedAs } of items) if (renderedAs !== null) this.known.forget(messageId);
    const rows = await database.$queryRaw<BuiltRow[]>`
      SELECT * FROM gwk_store_built(
        ${leaseArrays(items)}, ${items.map((item) => item.messageId)}::uuid[],
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
    if (!same) this.deps.log.error({ message: item.messageId }, 'engine built different bytes for a message');
    return same;
  }
}

/**
 * Reads the encoded form of a sent message while it is stored. A device of the contact that could not decrypt it requests it
 * again, possibly from a later engine.
 */
export async function readSent(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { epoch, holder, wa_message_id }: EngineRequest<'sent'>,
): Promise<EngineResponse<'sent'>> {
  const [row] = await database.$transaction(async (tx) => {
    await fence(tx, instanceId, { epoch, holder });
    return tx.$queryRaw<{ built_sealed: Uint8Array }[]>`
      SELECT c.built_sealed
      FROM gwk_messages_by_network_id(${instanceId}::uuid, ${[wa_message_id]}::text[]) AS m
      JOIN message_contents c ON c.message_id = m.id
      WHERE m.direction = 'outbound' AND c.built_sealed IS NOT NULL
      LIMIT 1`;
  });
  return { built: row ? openBuilt(sealer, instanceId, row.built_sealed).toString('base64') : null };
}

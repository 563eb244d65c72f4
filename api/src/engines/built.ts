import { Batcher } from '../platform/batcher.js';
import { selectFields } from '../database/model-columns.js';
import { Prisma } from '../generated/prisma/client.js';
import type { MessageRow } from '../message-status/apply-status.js';
import { FACT_FIELDS } from '../message-status/decide-status.js';
import type { EngineRequest, EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import { resolvePolicy } from '../policy/policy.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { openBuilt, openMenu, sealBuilt, sealCard, sealMenu } from '../messages/content.js';
import type { InternalDeps } from './dependencies.js';
import { fence, leaseArrays, type EngineCaller } from '../fencing/fence.js';
import { LINGER, isRolledBack } from '../database/grouping.js';
import type { MessageCache } from './message-cache.js';
import { RefusalError, type LeaseRefusal } from '../fencing/refusal.js';

type BuiltItem = EngineRequest<'built'>['messages'][number] &
  LeaseIdentity &
  Pick<EngineCaller, 'instanceId'>;

interface Stored {
  refusal: LeaseRefusal;
  stored: boolean;
}

const NAMED = ['place', 'refusal', 'held', 'existing', 'groupId', 'lid', 'phone', 'username', 'now'] as const;

interface BuiltRow {
  place: number;
  refusal: LeaseRefusal;
  /** Whether the caller's lease has claimed the message. */
  held: boolean;
  existing: Uint8Array | null;
}

/** A message that the call claimed, with the facts that decide its outcome. */
type ClaimedRow = BuiltRow & Omit<MessageRow, 'claimId' | 'claimEpoch' | 'claimHolder' | 'attemptedAt'>;

/**
 * Stores the encoded form of a message before its first stanza, so that every resend has the same bytes
 * (docs/architecture.md). The first stored form stays. An engine with other bytes gets no confirmation and may not send them.
 */
export class BuiltMessages {
  readonly #batcher = new Batcher<BuiltItem, Stored>({
    run: (items) => this.#storeAll(items),
    linger: LINGER,
    mayIsolate: isRolledBack,
  });

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: MessageCache,
  ) {}

  async store(caller: EngineCaller, request: EngineRequest<'built'>): Promise<EngineResponse<'built'>> {
    const { instanceId } = caller;
    const { epoch, holder, messages } = request;
    const answers = await Promise.all(
      messages.map((message) => this.#batcher.submit({ ...message, instanceId, epoch, holder })),
    );
    const refused = answers.find(({ refusal }) => refusal);
    if (refused?.refusal) throw new RefusalError(refused.refusal);
    return { stored: messages.filter((_, index) => answers[index]!.stored).map((item) => item.message_id) };
  }

  async #storeAll(items: readonly BuiltItem[]): Promise<Stored[]> {
    const { database, sealer } = this.deps;
    // Storing the rendering changes the version of the message, so cached facts are stale.
    for (const { message_id, rendered_as } of items) if (rendered_as !== null) this.known.forget(message_id);
    const rows = await database.queryRows<BuiltRow | ClaimedRow>(Prisma.sql`
      WITH b AS (SELECT * FROM gwk_claim_built(
        ${leaseArrays(items)}, ${items.map((item) => item.message_id)}::uuid[],
        ${items.map((item) => sealBuilt(sealer, item.instanceId, bytesOf(item)))}::bytea[],
        ${items.map((item) => item.rendered_as)}::text[], ${this.#detailsOf(items)}::jsonb))
      SELECT ${selectFields(NAMED, 'b')}, ${selectFields(FACT_FIELDS, '(b.message)')} FROM b`);
    const answers = rows.map((row) => {
      const item = items[row.place - 1]!;
      if ('id' in row && row.id !== null) this.#remember(row, item);
      return { refusal: row.refusal, stored: row.held && this.#same(item, row.existing) };
    });
    await this.#storeCards(items.filter((_, index) => answers[index]!.stored));
    return answers;
  }

  /** Caches the facts of a message that this call claimed. */
  #remember(row: ClaimedRow, { epoch, holder, claim, rendered_as }: BuiltItem): void {
    if (rendered_as !== null || !claim) return;
    const { claim_id: claimId } = claim;
    const claimed = { claimEpoch: epoch, claimHolder: holder, claimId, attemptedAt: row.now };
    this.known.remember({ ...row, ...claimed });
  }

  /** If the process ends before this, quotes of the message show only its type. */
  async #storeCards(items: readonly BuiltItem[]): Promise<void> {
    const { database, sealer } = this.deps;
    const withCard = items.flatMap(({ card, ...item }) => (card === undefined ? [] : [{ ...item, card }]));
    if (withCard.length === 0) return;
    await database.messageCard.createMany({
      data: withCard.map(({ message_id: messageId, instanceId, card }) => ({
        ...{ messageId, instanceId, cardSealed: Uint8Array.from(sealCard(sealer, instanceId, card)) },
      })),
      skipDuplicates: true,
    });
  }

  #detailsOf(items: readonly BuiltItem[]): string {
    const { sealer, environmentPolicy } = this.deps;
    const levels = { environment: environmentPolicy, account: {}, instance: {} };
    const { menu_ttl_hours } = resolvePolicy(levels, { warmingUp: false });
    const menus = items.flatMap(({ menu, message_id, instanceId }) => {
      if (!menu) return [];
      const { kind, mode } = menu;
      return [{ message_id, kind, mode, options: sealMenu(sealer, instanceId, menu).toString('base64') }];
    });
    const claims = items.flatMap(({ claim }, index) => {
      if (!claim) return [];
      const { claim_id, timer } = claim;
      return [{ place: index + 1, claim_id, timer_s: timer?.seconds, timer_set_at: timer?.set_at }];
    });
    return JSON.stringify({ menus, menu_hours: menu_ttl_hours, claims });
  }

  #same(item: BuiltItem, existing: Uint8Array | null): boolean {
    if (!existing) return true;
    const same = bytesOf(item).equals(openBuilt(this.deps.sealer, item.instanceId, existing));
    if (!same)
      this.deps.log.error({ message: item.message_id }, 'engine built different bytes for a message');
    return same;
  }
}

const bytesOf = ({ built }: BuiltItem): Buffer => Buffer.from(built, 'base64');

/**
 * Reads the encoded form of a sent message while it is stored. A device of the contact that could not decrypt it requests it
 * again, possibly from a later engine.
 */
export async function readSent(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { epoch, holder, wa_message_id, poll }: EngineRequest<'sent'>,
): Promise<EngineResponse<'sent'>> {
  if (poll) return readPoll({ database, sealer }, instanceId, { epoch, holder, wa_message_id });
  const [row] = await database.$transaction(async (tx) => {
    await fence(tx, instanceId, { epoch, holder });
    return tx.$queryRaw<{ built_sealed: Uint8Array }[]>`
      SELECT c.built_sealed FROM message_contents c
      WHERE c.message_id = (gwk_find_messages(NULL, ARRAY[${instanceId}::uuid], NULL, ARRAY[${wa_message_id}]))[1]
        AND c.built_sealed IS NOT NULL`;
  });
  return { built: openBase64(sealer, instanceId, row?.built_sealed ?? null) };
}

/** Anybody can name any message in a vote, so only the index of menus is searched. */
async function readPoll(
  { database, sealer }: Pick<InternalDeps, 'database' | 'sealer'>,
  instanceId: string,
  { epoch, holder, wa_message_id }: EngineRequest<'sent'>,
): Promise<EngineResponse<'sent'>> {
  const [row] = await database.$transaction(async (tx) => {
    await fence(tx, instanceId, { epoch, holder });
    return tx.$queryRaw<{ options_sealed: Uint8Array; built_sealed: Uint8Array | null }[]>`
      SELECT m.options_sealed, c.built_sealed FROM menus m
      LEFT JOIN message_contents c ON c.message_id = m.message_id
      WHERE m.instance_id = ${instanceId}::uuid AND m.wa_message_id = ${wa_message_id} AND m.kind = 'poll' LIMIT 1`;
  });
  if (!row) return { built: null };
  const { secret = null } = openMenu(sealer, instanceId, row.options_sealed);
  return { secret, built: secret === null ? openBase64(sealer, instanceId, row.built_sealed) : null };
}

const openBase64 = (sealer: Sealer, instanceId: string, built: Uint8Array | null): string | null =>
  built && openBuilt(sealer, instanceId, built).toString('base64');

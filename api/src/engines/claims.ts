import { Batcher } from '../platform/batcher.js';
import { parseUuidTime, toPublicId } from '@gwk/core/ids/ids';
import type { ClaimedMessage, EngineRequest, EngineResponse } from '@gwk/core/protocol/engine';
import { parseRecipient, toAddress } from '@gwk/core/ids/recipients';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode, Rendering } from '@gwk/core/states';
import { tracing } from '@gwk/core/tracing/tracing';
import { selectFields } from '../database/model-columns.js';
import { Prisma } from '../generated/prisma/client.js';
import { failMessages, type MessageRow } from '../message-status/apply-status.js';
import { openContent, openBuilt } from '../messages/content.js';
import { FACT_FIELDS } from '../message-status/decide-status.js';
import { readQuotes } from '../messages/quotes.js';
import { readContexts } from '../platform/trace-contexts.js';
import type { InternalDeps } from './dependencies.js';
import { leaseArrays, type EngineCaller } from '../fencing/fence.js';
import { LINGER, isRolledBack } from '../database/grouping.js';
import type { MessageCache } from './message-cache.js';
import { RefusalError, type LeaseRefusal } from '../fencing/refusal.js';

type ClaimItem = EngineRequest<'claims'> & Pick<EngineCaller, 'instanceId'>;

const MESSAGE = [...FACT_FIELDS, 'conversationId', 'type'] as const;
const NAMED = [
  'place',
  'refusal',
  'messageId',
  'optedOut',
  'groupId',
  'lid',
  'phone',
  'username',
  'timerS',
  'timerSetAt',
  'contentSealed',
  'builtSealed',
  'attemptedAt',
  'interactiveMode',
  'now',
] as const;

/** The answer to an item (without a message), an opted-out message, or a claimed one with its facts. */
interface ClaimRow extends Omit<MessageRow, 'claimId' | 'claimEpoch' | 'claimHolder'> {
  place: number;
  refusal: LeaseRefusal;
  messageId: string | null;
  optedOut: boolean;
  conversationId: string;
  waMessageId: string;
  type: string;
  timerS: number | null;
  timerSetAt: Date | null;
  contentSealed: Uint8Array | null;
  builtSealed: Uint8Array | null;
  interactiveMode: InteractiveMode;
}

interface Claimed {
  refusal: LeaseRefusal;
  messages: ClaimedMessage[];
}

/**
 * Claims of all engines, in batches (SQL: gwk_claim_messages). A claim fails opted-out and unreadable messages, so that they do
 * not block later ones of their conversations.
 */
export class Claims {
  readonly #batcher = new Batcher<ClaimItem, Claimed>({
    run: (items) => this.#claimAll(items),
    linger: LINGER,
    mayIsolate: isRolledBack,
  });

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: MessageCache,
  ) {}

  async claim(
    { instanceId }: EngineCaller,
    request: EngineRequest<'claims'>,
  ): Promise<EngineResponse<'claims'>> {
    const { refusal, messages } = await this.#batcher.submit({ ...request, instanceId });
    if (refusal) throw new RefusalError(refusal);
    return { messages };
  }

  async #claimAll(items: readonly ClaimItem[]): Promise<Claimed[]> {
    // The function comes first, because Postgres shows only the start of a statement (pg_stat_activity).
    const rows = await this.deps.database.queryRows<ClaimRow>(Prisma.sql`
      WITH c AS (SELECT * FROM gwk_claim_messages(
        ${leaseArrays(items)}, ${items.map((item) => item.number)}::bigint[],
        ${items.map((item) => item.repeated)}::boolean[],
        ${items.map((item) => item.claim_id)}::uuid[], ${items.map((item) => item.limit)}::integer[],
        ${items.map((item) => item.followers)}::boolean[]))
      SELECT ${selectFields(NAMED, 'c')}, ${selectFields(MESSAGE, '(c.message)')} FROM c`);
    const answers: Claimed[] = items.map(() => ({ refusal: null, messages: [] }));
    const optedOut: string[] = [];
    const unreadable: string[] = [];
    for (const row of rows) {
      const answer = answers[row.place - 1]!;
      if (row.messageId === null) answer.refusal = row.refusal;
      else if (row.optedOut) optedOut.push(row.messageId);
      else {
        const message = this.#open(row);
        this.#remember(row, items[row.place - 1]!);
        if (message) answer.messages.push(message);
        else unreadable.push(row.messageId);
      }
    }
    const messages = answers.flatMap(({ messages }) => messages);
    if (tracing.on) await this.#addTraces(messages);
    await this.#addQuotes(messages);
    await this.#fail(optedOut, 'opted_out');
    await this.#fail(unreadable, 'internal');
    return answers;
  }

  #open(row: ClaimRow): ClaimedMessage | null {
    const { sealer, log } = this.deps;
    const { id, instanceId } = row;
    try {
      if (!row.contentSealed) throw new Error('the content was deleted');
      return {
        message_id: id,
        conversation_id: row.conversationId,
        chat: toAddress(parseRecipient(row.to)!),
        wa_message_id: row.waMessageId,
        type: row.type,
        content: openContent(sealer, instanceId, row.contentSealed),
        interactive_mode: row.interactiveMode,
        quoted: null,
        ...readTimer(row),
        built: row.builtSealed && openBuilt(sealer, instanceId, row.builtSealed).toString('base64'),
        rendered_as: row.renderedAs as Rendering | null,
        attempted_at: row.attemptedAt?.toISOString() ?? null,
      };
    } catch (error) {
      log.error({ message: id, instance: instanceId, err: error }, 'claimed message cannot be decrypted');
      return null;
    }
  }

  /** Caches the facts of a message in status `sending`. */
  #remember(row: ClaimRow, { epoch, holder, claim_id: claimId }: ClaimItem): void {
    if (row.status !== 'sending') return;
    const facts = { ...row, contentSealed: null, builtSealed: null };
    this.known.remember({ ...facts, claimEpoch: epoch, claimHolder: holder, claimId });
  }

  /** Records the wait of each message as a span; later spans are children of the acceptance. */
  async #addTraces(messages: readonly ClaimedMessage[]): Promise<void> {
    const contexts = await readContexts(
      this.deps.database,
      messages.map(({ message_id }) => message_id),
    );
    for (const message of messages) {
      const { message_id, attempted_at } = message;
      const traceparent = contexts.get(message_id);
      if (traceparent === undefined) continue;
      message.traceparent = traceparent;
      const attributes = {
        'gwk.message.id': toPublicId('message', message_id),
        'gwk.message.attempted': attempted_at !== null,
      };
      tracing.child('queued', traceparent, { since: parseUuidTime(message_id), attributes }).end();
    }
  }

  /** Reads the quoted messages of the few replies. */
  async #addQuotes(messages: readonly ClaimedMessage[]): Promise<void> {
    const wanted = messages.flatMap((message) => {
      const id = quotedIn(message.content);
      return id === null ? [] : [{ message, id }];
    });
    const quotes = await readQuotes(
      this.deps,
      wanted.map(({ id }) => id),
    );
    for (const { message, id } of wanted) {
      const found = quotes.get(id);
      if (!found) continue;
      const { conversationId, quote } = found;
      // Other ids of the same contact are not another chat.
      const isHere = conversationId === message.conversation_id;
      message.quoted = isHere ? { ...quote, chat: message.chat } : quote;
    }
  }

  /** Errors do not fail the claim: the next claim finds the message again. */
  async #fail(messageIds: string[], code: 'opted_out' | 'internal'): Promise<void> {
    if (messageIds.length === 0) return;
    try {
      await failMessages(this.deps, messageIds, { code, message: null });
    } catch (error) {
      this.deps.log.error({ messages: messageIds, code, err: error }, 'failing refused messages failed');
    }
  }
}

function readTimer({ groupId, timerS, timerSetAt }: ClaimRow): Pick<ClaimedMessage, 'timer'> {
  if (groupId !== null || timerS === null || timerSetAt === null) return {};
  return { timer: { seconds: timerS, set_at: timerSetAt.toISOString() } };
}

/** Parses the content only if it may contain a reply. */
function quotedIn(content: string): string | null {
  if (!content.includes('"reply_to"')) return null;
  return (JSON.parse(content) as OutboundContent).reply_to ?? null;
}

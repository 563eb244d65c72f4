import { Batcher } from '@gwk/core/batcher';
import { parseUuidTime, toPublicId } from '@gwk/core/ids';
import type { ClaimedMessage, EngineRequest, EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode, MessageStatus, Rendering } from '@gwk/core/states';
import { tracing } from '@gwk/core/tracing/tracing';
import { buildChat } from '../events/emit.js';
import { failMessages } from '../messages/apply-status.js';
import { openContent, openBuilt } from '../messages/content.js';
import { readQuotes } from '../messages/quotes.js';
import { readContexts } from '../platform/trace-contexts.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { LINGER, isRolledBack } from '../database/grouping.js';
import type { MessageCache } from './message-cache.js';
import { RefusalError, type LeaseRefusal } from './refusal.js';

interface ClaimItem extends LeaseIdentity {
  instanceId: string;
  number: number;
  repeated: boolean;
  claimId: string;
  limit: number;
}

interface ClaimRow {
  place: number;
  refusal: LeaseRefusal;
  message_id: string | null;
  opted_out: boolean;
  conversation_id: string;
  group_id: string | null;
  contact_name: string | null;
  wa_message_id: string;
  type: string;
  content_sealed: Uint8Array | null;
  built_sealed: Uint8Array | null;
  rendered_as: Rendering | null;
  attempted_at: Date | null;
  interactive_mode: InteractiveMode;
  account_id: string;
  version: number;
  status: MessageStatus;
  created_at: Date;
  scheduled_for: Date | null;
  now: Date;
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
  readonly #batcher: Batcher<ClaimItem, Claimed>;

  constructor(
    private readonly deps: InternalDeps,
    private readonly known: MessageCache,
  ) {
    this.#batcher = new Batcher({
      run: (items) => this.#claimAll(items),
      linger: LINGER,
      mayIsolate: isRolledBack,
    });
  }

  async claim(caller: EngineCaller, request: EngineRequest<'claims'>): Promise<EngineResponse<'claims'>> {
    const { epoch, holder, number, repeated, claim_id: claimId, limit } = request;
    const { refusal, messages } = await this.#batcher.submit({
      instanceId: caller.instanceId,
      epoch,
      holder,
      number,
      repeated,
      claimId,
      limit,
    });
    if (refusal) throw new RefusalError(refusal);
    return { messages };
  }

  async #claimAll(items: readonly ClaimItem[]): Promise<Claimed[]> {
    const rows = await this.deps.database.$queryRaw<ClaimRow[]>`
      SELECT * FROM gwk_claim_messages(
        ${items.map((item) => item.instanceId)}::uuid[], ${items.map((item) => item.epoch)}::integer[],
        ${items.map((item) => item.holder)}::uuid[], ${items.map((item) => item.number)}::bigint[],
        ${items.map((item) => item.repeated)}::boolean[],
        ${items.map((item) => item.claimId)}::uuid[], ${items.map((item) => item.limit)}::integer[])`;
    const answers: Claimed[] = items.map(() => ({ refusal: null, messages: [] }));
    const optedOut: string[] = [];
    const unreadable: string[] = [];
    for (const row of rows) {
      const answer = answers[row.place - 1]!;
      if (row.message_id === null) answer.refusal = row.refusal;
      else if (row.opted_out) optedOut.push(row.message_id);
      else {
        const item = items[row.place - 1]!;
        const message = this.#open(row, row.message_id, item.instanceId);
        this.#remember(row, row.message_id, item);
        if (message) answer.messages.push(message);
        else unreadable.push(row.message_id);
      }
    }
    const claimed = answers.flatMap(({ messages }) => messages);
    if (tracing.on) await this.#addTraces(claimed);
    await this.#addQuotes(claimed);
    await this.#fail(optedOut, 'opted_out');
    await this.#fail(unreadable, 'internal');
    return answers;
  }

  #open(row: ClaimRow, messageId: string, instanceId: string): ClaimedMessage | null {
    const { sealer, log } = this.deps;
    try {
      if (!row.content_sealed) throw new Error('the content was deleted');
      return {
        message_id: messageId,
        conversation_id: row.conversation_id,
        chat: buildChat({ groupId: row.group_id, contactName: row.contact_name }).id,
        wa_message_id: row.wa_message_id,
        type: row.type,
        content: openContent(sealer, instanceId, row.content_sealed),
        interactive_mode: row.interactive_mode,
        quoted: null,
        built: row.built_sealed && openBuilt(sealer, instanceId, row.built_sealed).toString('base64'),
        rendered_as: row.rendered_as,
        attempted_at: row.attempted_at?.toISOString() ?? null,
      };
    } catch (error) {
      log.error(
        { message: messageId, instance: instanceId, err: error },
        'claimed message cannot be decrypted',
      );
      return null;
    }
  }

  /** Caches the facts of a message in status `sending`, which has neither failed nor left. */
  #remember(row: ClaimRow, messageId: string, item: ClaimItem): void {
    if (row.status !== 'sending') return;
    const { now, account_id, wa_message_id, group_id, contact_name, version, status } = row;
    const { created_at, scheduled_for, rendered_as, attempted_at } = row;
    this.known.remember({
      ...{ now, account_id, wa_message_id, group_id, contact_name, version, status },
      ...{ created_at, scheduled_for, rendered_as, attempted_at },
      message_id: messageId,
      instance_id: item.instanceId,
      error_code: null,
      error_message: null,
      played: false,
      sent_at: null,
      delivered_at: null,
      read_at: null,
      failed_at: null,
      claim_epoch: item.epoch,
      claim_holder: item.holder,
      claim_id: item.claimId,
    });
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
    for (const { message, id } of wanted) message.quoted = quotes.get(id) ?? null;
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

/** Parses the content only if it may contain a reply. */
function quotedIn(content: string): string | null {
  if (!content.includes('"reply_to"')) return null;
  return (JSON.parse(content) as OutboundContent).reply_to ?? null;
}

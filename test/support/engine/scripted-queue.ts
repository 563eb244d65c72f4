import { randomUUID } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';

interface Row {
  message: ClaimedMessage;
  claimId: string | null;
}

/** The messages of one instance, in memory: heads of conversations, claimed in turn. */
export class ScriptedQueue {
  readonly #byId = new Map<string, Row>();
  /** By conversation, in order. */
  readonly #waiting = new Map<string, Row[]>();
  /** Every reported outcome, in order. */
  readonly outcomes: { kind: string; message_id?: string; wa_message_id?: string }[] = [];

  add(conversation: string, text: string, chat = `${conversation}@s.whatsapp.net`): ClaimedMessage {
    const message: ClaimedMessage = {
      message_id: newUuid(),
      conversation_id: conversation,
      chat,
      wa_message_id: `WA${randomUUID()}`,
      type: 'text',
      content: JSON.stringify({ type: 'text', text: { body: text } }),
      interactive_mode: 'native+text',
      quoted: null,
      built: null,
      rendered_as: null,
      attempted_at: null,
    };
    const rows = this.#waiting.get(conversation) ?? [];
    const row = { message, claimId: null };
    rows.push(row);
    this.#byId.set(message.message_id, row);
    this.#waiting.set(conversation, rows);
    return message;
  }

  fill(conversation: string, count: number, text: string): void {
    for (let i = 0; i < count; i++) this.add(conversation, text);
  }

  /** Lets another engine claim what the last one held. */
  orphan(): void {
    for (const row of this.#byId.values()) row.claimId = null;
  }

  /** The message must no longer be sent. */
  remove(messageId: string): void {
    const row = this.#byId.get(messageId);
    const rows = row && this.#waiting.get(row.message.conversation_id);
    if (!rows) return;
    this.#byId.delete(messageId);
    rows.splice(rows.indexOf(row), 1);
    if (rows.length === 0) this.#waiting.delete(row.message.conversation_id);
  }

  /** Id of the claim that holds the message. */
  claimOf(messageId: string): string | null | undefined {
    return this.#byId.get(messageId)?.claimId;
  }

  claim(claimId: string, limit: number): ClaimedMessage[] {
    const heads: Row[] = [];
    const before: Row[] = [];
    for (const [head] of this.#waiting.values()) {
      if (head?.claimId === claimId) before.push(head);
      if (head?.claimId === null && heads.length < limit) heads.push(head);
    }
    if (before.length === 0) for (const row of heads) row.claimId = claimId;
    return (before.length > 0 ? before : heads).map(({ message }) => message);
  }

  /** Whether there are messages to claim. */
  get waiting(): boolean {
    return [...this.#waiting.values()].some(([head]) => head?.claimId === null);
  }

  built(messages: { message_id: string; built: string; claim?: { claim_id: string } }[]): string[] {
    return messages.flatMap(({ message_id, built, claim }) => {
      const row = this.#byId.get(message_id);
      const isHead = row && this.#waiting.get(row.message.conversation_id)![0] === row;
      if (isHead) row.claimId ??= claim?.claim_id ?? null;
      if (!row?.claimId) return [];
      row.message.built ??= built;
      row.message.attempted_at ??= new Date().toISOString();
      return row.message.built === built ? [message_id] : [];
    });
  }

  conclude(outcomes: { kind: string; message_id?: string }[]): void {
    this.outcomes.push(...outcomes);
    for (const { kind, message_id } of outcomes) {
      const row = message_id === undefined ? undefined : this.#byId.get(message_id);
      if (!row) continue;
      if (kind === 'returned') row.claimId = null;
      else this.remove(row.message.message_id);
    }
  }

  outcomesOf(kind: string): { kind: string; message_id?: string; wa_message_id?: string }[] {
    return this.outcomes.filter((outcome) => outcome.kind === kind);
  }
}

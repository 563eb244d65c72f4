import { randomUUID } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';

interface Row {
  message: ClaimedMessage;
  claimId: string | null;
}

/** The rows of one instance, in memory: heads of conversations, claimed in turns. */
export class ScriptedQueue {
  /** By conversation, in order. */
  readonly #waiting = new Map<string, Row[]>();
  /** Every outcome that was reported, in order. */
  readonly outcomes: { kind: string; message_id?: string; wa_message_id?: string }[] = [];

  add(conversation: string, text: string, chat = `${conversation}@s.whatsapp.net`): ClaimedMessage {
    const message: ClaimedMessage = {
      message_id: randomUUID(),
      conversation_id: conversation,
      chat,
      wa_message_id: `WA${randomUUID()}`,
      type: 'text',
      content: JSON.stringify({ type: 'text', text: { body: text } }),
      built: null,
      rendered_as: null,
      attempted_at: null,
    };
    const rows = this.#waiting.get(conversation) ?? [];
    this.#waiting.set(conversation, [...rows, { message, claimId: null }]);
    return message;
  }

  /** Another engine takes over what the last one held. */
  orphan(): void {
    for (const row of this.#rows()) row.claimId = null;
  }

  /** The message is no longer to be sent. */
  remove(messageId: string): void {
    for (const [conversation, rows] of this.#waiting) {
      this.#waiting.set(
        conversation,
        rows.filter(({ message }) => message.message_id !== messageId),
      );
    }
  }

  claim(claimId: string, limit: number): ClaimedMessage[] {
    const before = this.#rows().filter((row) => row.claimId === claimId);
    if (before.length > 0) return before.map(({ message }) => message);
    const heads = [...this.#waiting.values()].flatMap((rows) => (rows[0]?.claimId === null ? [rows[0]] : []));
    const claimed = heads.slice(0, limit);
    for (const row of claimed) row.claimId = claimId;
    return claimed.map(({ message }) => message);
  }

  built(messages: { message_id: string; built: string }[]): string[] {
    return messages.flatMap(({ message_id, built }) => {
      const row = this.#rows().find(({ message }) => message.message_id === message_id);
      if (!row?.claimId) return [];
      row.message.built ??= built;
      row.message.attempted_at ??= new Date().toISOString();
      return row.message.built === built ? [message_id] : [];
    });
  }

  conclude(outcomes: { kind: string; message_id?: string }[]): void {
    this.outcomes.push(...outcomes);
    for (const { kind, message_id } of outcomes) {
      if (message_id === undefined) continue;
      if (kind !== 'returned') this.remove(message_id);
      for (const row of this.#rows()) if (row.message.message_id === message_id) row.claimId = null;
    }
  }

  outcomesOf(kind: string): { kind: string; message_id?: string; wa_message_id?: string }[] {
    return this.outcomes.filter((outcome) => outcome.kind === kind);
  }

  #rows(): Row[] {
    return [...this.#waiting.values()].flat();
  }
}

import type { AcceptedMessageOut } from '@gwk/core/resources/message';
import { bytesArray, textArray } from '../../database/arrays.js';
import type { Call } from '../../database/database.js';
import { LOCK_NOT_AVAILABLE, readSqlState } from '../../database/grouping.js';
import type { SendItem, WritePlan } from './decide.js';

/** An accepted request with the values of its rows. */
export interface WriteEntry {
  request: SendItem;
  plan: WritePlan;
  messageId: string;
  /** For a part: the id of its whole message. */
  wholeId: string | null;
  /** Id of the idempotency record of the request, also for its parts. */
  recordId: string | null;
  /** Time of the message id, in milliseconds since 1970. */
  createdAt: number;
  waMessageId: string;
  contentSealed: Buffer;
  /** Body of the 202 response. */
  response: AcceptedMessageOut;
  /** Null without an idempotency key, and for a response that can be rebuilt from the message. */
  responseSealed: Buffer | null;
}

/**
 * Writes a batch in one transaction. It waits up to 200 ms for locked rows. After that, and for `skipLockedMs`, it skips locked
 * rows at once and leaves out only the requests that need them.
 */
export class BatchWriter {
  readonly #call: Call;
  readonly #skipLockedMs: number;
  #skipLockedUntil = -Infinity;

  constructor(call: Call, skipLockedMs: number) {
    this.#call = call;
    this.#skipLockedMs = skipLockedMs;
  }

  /** Returns the entries that were written. The facts of the others were stale. */
  async write(entries: readonly WriteEntry[]): Promise<WriteEntry[]> {
    if (entries.length === 0) return [];
    const columns = Object.entries(COLUMNS).map(([name, pick]) => [name, textArray(entries, pick)]);
    const [written] = await this.#run([
      JSON.stringify(Object.fromEntries(columns)),
      bytesArray(entries, ({ contentSealed }) => contentSealed),
      bytesArray(entries, ({ request }) => request.bodyHash),
      bytesArray(entries, ({ responseSealed }) => responseSealed),
    ]);
    const isWritten = (written as string).slice(1, -1).split(',');
    return entries.filter((_, index) => isWritten[index] === 't');
  }

  async #run(values: readonly unknown[]): Promise<readonly unknown[]> {
    const run = (skipLocked: boolean) => this.#call(WRITE, [...values, skipLocked]);
    if (performance.now() < this.#skipLockedUntil) return run(true);
    try {
      return await run(false);
    } catch (error) {
      if (readSqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      this.#skipLockedUntil = performance.now() + this.#skipLockedMs;
      return run(true);
    }
  }
}

/** An array is returned as text, because the driver parses arrays element by element. */
const WRITE = 'SELECT gwk_accept_write($1, $2, $3, $4, $5)::text';

type Value = string | number | boolean | null | undefined;

/** The values of a request, by their names in gwk_accept_write. */
const COLUMNS: Readonly<Record<string, (entry: WriteEntry) => Value>> = {
  message_ids: ({ messageId }) => messageId,
  account_ids: ({ request }) => request.accountId,
  account_versions: ({ plan }) => plan.accountVersion,
  instance_ids: ({ request }) => request.instanceId,
  instance_versions: ({ plan }) => plan.instanceVersion,
  conversation_ids: ({ plan }) => plan.conversationId,
  new_conversations: ({ plan }) => plan.createsConversation,
  contact_ids: ({ plan }) => plan.contactId,
  new_contacts: ({ plan }) => plan.createsContact,
  names: ({ request }) => request.recipient.name,
  counted: ({ plan }) => plan.counted,
  last_wrote: ({ plan }) => plan.lastWroteAt,
  recipients: ({ request }) => request.draft.to,
  types: ({ request }) => request.draft.type,
  prepared: ({ request }) => request.draft.prepared,
  wa_message_ids: ({ waMessageId }) => waMessageId,
  created_at: ({ createdAt }) => createdAt,
  offline_ms: countOfflineMs,
  releases: ({ plan }) => plan.releaseAt?.toISOString(),
  record_ids: ({ recordId }) => recordId,
  whole_ids: ({ wholeId }) => wholeId,
  new_contact_headroom: ({ plan: { newContact } }) => newContact && newContact.limit - newContact.rank,
  mass_headroom: ({ plan: { mass } }) => mass?.check && mass.check.limit - mass.check.rank,
  mass_texts: ({ plan: { mass } }) => mass?.check?.textsAtLimit,
  mass_minutes: ({ plan }) => plan.mass?.minutes,
  fingerprints: ({ request, plan }) => plan.mass && request.fingerprint,
};

/** Includes the offline time since the facts were read: the expiry of a message counts from its acceptance. */
function countOfflineMs({ plan, createdAt }: WriteEntry): number {
  if (plan.offlineSince === null) return plan.offlineMs;
  return plan.offlineMs + Math.max(0, Math.round(createdAt - plan.offlineSince));
}

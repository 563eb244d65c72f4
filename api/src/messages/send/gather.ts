import { exactDigits, type Recipient } from '@gwk/core/ids/recipients';
import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../../database/database.js';
import { toFields } from '../../database/model-columns.js';
import { Prisma } from '../../generated/prisma/client.js';

/** The keys by which Postgres finds the facts of a request. */
export interface LookupKeys {
  accountId: string;
  instanceId: string;
  recipient: Recipient;
  /** Id of the idempotency record (http/idempotency/store.ts); null without an `Idempotency-Key`. */
  recordId: string | null;
  /** Keyed digest of instance and text, in hex; the mass-send block counts by it. Null without text. */
  fingerprint: string | null;
  /** UUID of the quoted message. */
  replyTo: string | null;
  /** UUID of the media file. */
  mediaId: string | null;
}

/** The state in Postgres that decides one request, read at one moment. Times are milliseconds since 1970. */
export interface Facts {
  at: number;
  /** Null if the account has no such instance. */
  instanceVersion: string | null;
  state: InstanceState | null;
  /** Total time that the instance has spent in states other than `connected`. */
  offlineMs: number | null;
  warmUpFrom: number | null;
  restrictedUntil: number | null;
  /** JSON of the policy overrides. */
  instancePolicy: string | null;
  accountVersion: string | null;
  accountPolicy: string | null;
  accountSuspended: boolean;
  /** Body hash of an earlier request with the same key. */
  recordHash: Uint8Array | null;
  /** Message that the earlier request created. */
  recordMessage: string | null;
  /** Stored response; null if it can be rebuilt (items.ts). */
  recordResponse: Uint8Array | null;
  contactId: string | null;
  optedOut: boolean;
  conversationId: string | null;
  /** The instance has counted this contact as a new contact. */
  counted: boolean;
  lastWroteAt: number | null;
  newContacts: number;
  oldestNewContact: number | null;
  massContacts: number;
  massCounted: boolean;
  /** Texts that the instance has sent to contacts. */
  texts: number;
  replyOk: boolean;
  /** The quoted message belongs to a former account of the instance. */
  replyFormer: boolean;
  /** The file belongs to the account and is still available. */
  mediaFound: boolean;
  /** The instances whose API keys may use the file. Empty: the whole account; null: the file was not found. */
  mediaInstances: string[] | null;
}

/** Route in the idempotency records of sends. */
export const SEND_ROUTE = 'POST /v1/messages';

/** Reads the facts of a batch in one statement, in the order of the batch. */
export async function gatherFacts(
  { queryRows }: Pick<Database, 'queryRows'>,
  batch: readonly LookupKeys[],
  environmentWindowMinutes: number,
): Promise<Facts[]> {
  const requests = batch.map(
    ({ accountId, instanceId, recipient, recordId, fingerprint, replyTo, mediaId }) => ({
      account_id: accountId,
      instance_id: instanceId,
      name: recipient.name,
      exact: exactDigits(recipient),
      is_group: recipient.kind === 'group',
      record_id: recordId,
      fingerprint,
      reply_id: replyTo,
      media_id: mediaId,
    }),
  );
  return toFields<Facts>(
    await queryRows(Prisma.sql`
      SELECT * FROM gwk_accept_gather(${JSON.stringify(requests)}::jsonb, ${environmentWindowMinutes}::integer)`),
  );
}

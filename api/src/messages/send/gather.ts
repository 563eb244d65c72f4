import type { Recipient } from '@gwk/core/recipients';
import type { InstanceState } from '@gwk/core/states';
import type { Queryable } from '../../database/database.js';
import { plainArray, textArray } from '../../database/arrays.js';

/** What a request is looked up by. */
export interface Lookup {
  accountId: string;
  instanceId: string;
  recipient: Recipient;
  /** Of its key (idempotency/record-id.ts); null where it has none. */
  recordId: string | null;
  /** Of instance and text, in hex: what the mass block counts by. Null where there is no text. */
  fingerprint: string | null;
  /** UUID of the message quoted. */
  replyTo: string | null;
  /** UUID of the file that it carries. */
  mediaId: string | null;
}

/** What Postgres knew about one request at one moment. Times are milliseconds since 1970. */
export interface Facts {
  at: number;
  /** Null where the account has no such instance. */
  instanceVersion: string | null;
  state: InstanceState | null;
  /** The out clock of the instance: how long it has been out of `connected` in all. */
  offlineMs: number | null;
  warmUpFrom: number | null;
  restrictedUntil: number | null;
  /** JSON of the overrides. */
  instancePolicy: string | null;
  accountVersion: string | null;
  accountPolicy: string | null;
  accountSuspended: boolean;
  /** Of an earlier request with the key, and the message that it made. */
  recordHash: Uint8Array | null;
  recordMessage: string | null;
  /** Null where the answer can be made again (answer.ts). */
  recordResponse: Uint8Array | null;
  contactId: string | null;
  optedOut: boolean;
  conversationId: string | null;
  /** A first message to this contact was counted as a new contact. */
  counted: boolean;
  lastWroteAt: number | null;
  newContacts: number;
  oldestNewContact: number | null;
  massContacts: number;
  massCounted: boolean;
  replyOk: boolean;
  /** The file is the account's and can still be used. */
  mediaFound: boolean;
  /** The instance that received the file; null for an uploaded one. */
  mediaInstances: string[] | null;
}

/** The `route` of these requests among those with keys. */
export const SEND_ROUTE = 'POST /v1/messages';

const GATHER = `
  SELECT at, instance_version AS "instanceVersion", state, offline_ms AS "offlineMs", warm_up_from AS "warmUpFrom",
    restricted_until AS "restrictedUntil", instance_policy AS "instancePolicy", account_version AS "accountVersion", account_policy AS "accountPolicy",
    account_suspended AS "accountSuspended", record_hash AS "recordHash",
    record_message AS "recordMessage", record_response AS "recordResponse", contact_id AS "contactId", opted_out AS "optedOut",
    conversation_id AS "conversationId", counted, last_wrote_at AS "lastWroteAt", new_contacts AS "newContacts",
    oldest_new_contact AS "oldestNewContact", mass_contacts AS "massContacts", mass_counted AS "massCounted",
    reply_ok AS "replyOk", media_found AS "mediaFound", media_instances AS "mediaInstances"
  FROM gwk_accept_gather($1::uuid[], $2::uuid[], $3::text[], $4::boolean[], $5::uuid[], $6::uuid[], $7::uuid[],
    $8::uuid[], $9::integer)`;

/** One statement for the whole group; the answers in its order. */
export function gather(
  database: Queryable,
  group: readonly Lookup[],
  environmentMassMinutes: number,
): Promise<Facts[]> {
  return database.$queryRawUnsafe<Facts[]>(
    GATHER,
    plainArray(group, ({ accountId }) => accountId),
    plainArray(group, ({ instanceId }) => instanceId),
    textArray(group, ({ recipient }) => recipient.name),
    plainArray(group, ({ recipient }) => recipient.kind === 'group'),
    plainArray(group, ({ recordId }) => recordId),
    plainArray(group, ({ fingerprint }) => fingerprint),
    plainArray(group, ({ replyTo }) => replyTo),
    plainArray(group, ({ mediaId }) => mediaId),
    environmentMassMinutes,
  );
}

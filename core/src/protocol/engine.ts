import { z } from 'zod';
import { CLIENT_VERSION } from '../client-version.js';
import { PAIRING_METHODS, PasskeyOptions } from '../resources/pairing.js';
import { Notice } from './notices.js';
import { InboundMessage, messageCard, time, Timer, uuid } from './inbound.js';
import { Username } from '../resources/common.js';
import { RECEIPT_FIELDS, SENT_FIELDS } from '../resources/message.js';
import { FAILURE_CODES, INSTANCE_KINDS, INSTANCE_STATES, INTERACTIVE_MODES } from '../states.js';

/**
 * The routes of the internal API for engines, authenticated by the token of one pod of an instance. A call with a small
 * body goes by a WebSocket (call-channel.ts), another one by HTTP: `POST {base}/engine/<route>` with JSON. The API takes
 * any call either way. Every call except `acquire` names the lease by epoch and holder. If they are outdated, the API
 * answers 409 with `{"error":"fenced"}`, and the engine closes its socket and exits.
 *
 * Ids are UUIDs without prefix, times are ISO 8601, bytes are base64. The API validates requests with these schemas;
 * the engine imports only their types, and so does not load zod.
 *
 * Fields that this version does not know are ignored: a newer engine may state more during an upgrade or a rollback, and
 * gives up what the API refuses.
 */
/** Limited to what Postgres accepts (32-bit integers), so that no item fails at every retry. */
const count = () => z.int32();
const base64 = () => z.base64();
const Lease = { epoch: count(), holder: uuid() };
/**
 * For calls whose order matters. `number` counts the calls of a route under a lease, from 1. A retry keeps its number,
 * except for claims. After a timeout the engine retries a call, and the first attempt may still arrive later: the API
 * answers it, and ignores it.
 */
const Numbered = { ...Lease, number: z.int().min(1) };

/** An open pairing session, for which the engine must show codes. */
const OpenPairing = z.object({
  session: uuid(),
  method: z.enum(PAIRING_METHODS),
  /** Phone number for the method `code`. */
  phone: z.string().nullable(),
  /** The only account that may be linked; null: any. Absent: the API is of an earlier release. */
  account: z.object({ jid: z.string(), lid: z.string().nullable() }).nullish(),
  /** Whether a passkey of the phone may be asked for. Absent: the API is of an earlier release, and asks for none. */
  passkeys: z.boolean().optional(),
  /** A passkey was asked for in this session. An engine that knows nothing of it ends the session. */
  passkey_asked: z.boolean().optional(),
});
export type OpenPairing = z.infer<typeof OpenPairing>;

/** Rules for the engine, by the policy. Each renewal repeats them. */
const Terms = {
  messages_per_minute: z.int(),
  /** Absent: the API is of an earlier release, and takes no notices. */
  reject_calls: z.boolean().optional(),
};

/** Requests to the connection. Each renewal repeats them, so that they do not depend on notifications. */
const PendingRequests = {
  pairing: OpenPairing.nullable(),
  /** Id of a logout request of the API: the engine unlinks the device, and reports it by this id (`unlinked`). */
  unlink: uuid().nullable(),
};

const acquire = {
  request: z.object({
    pod: z.string().min(1).max(253),
    version: z.string().max(100),
    /** Chosen once by the engine's process, so that a retry after a lost response gets the same lease. */
    holder: uuid().optional(),
  }),
  response: z.object({
    epoch: z.int(),
    holder: uuid(),
    /** From the moment the request was sent. */
    lease_ms: z.int(),
    renew_ms: z.int(),
    instance: z.object({
      id: uuid(),
      kind: z.enum(INSTANCE_KINDS),
      state: z.enum(INSTANCE_STATES),
      /** Absent: the API is of an earlier release. */
      state_reason: z.string().nullable().optional(),
      first_paired_at: time().nullable(),
      banned_until: time().nullable(),
      reconnect_count: z.int(),
      reconnect_at: time().nullable(),
    }),
    ...PendingRequests,
    ...Terms,
    redis: z.object({
      url: z.string(),
      username: z.string().nullable(),
      password: z.string().nullable(),
      key_prefix: z.string(),
      /** Certificate authority (PEM) for a `rediss://` address. Default: the public ones. */
      ca: z.string().optional(),
    }),
    command_key: base64(),
  }),
};

const renew = {
  request: z.object({ ...Lease, connected: z.boolean() }),
  response: z.object({
    lease_ms: z.int(),
    ...Terms,
    ...PendingRequests,
  }),
};

/** After the engine has closed its socket: the next engine need not wait until the lease ends. */
const release = { request: z.object({ ...Lease }), response: z.object({}) };

/** Creates the engine's Redis user again, after a new Redis has lost it. */
const redisUser = { request: z.object({ ...Lease }), response: z.object({}) };

/** The quoted message. Its text is empty if it has none or is no longer stored. */
const QuotedMessage = z.object({
  wa_message_id: z.string(),
  /** Network id of its conversation, which may differ from the conversation of the reply. */
  chat: z.string(),
  from_me: z.boolean(),
  /** Author; null for a message of the instance. */
  participant: z.string().nullable(),
  type: z.string(),
  text: z.string(),
  /** The message in the network's encoding, without texts and file keys, as an engine built it from the whole one. */
  card: messageCard().optional(),
});
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/** W3C trace context of the parent span (tracing/tracing.ts). */
const Traceparent = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);

const ClaimedMessage = z.object({
  message_id: uuid(),
  conversation_id: uuid(),
  /** Network id of the contact or group. */
  chat: z.string(),
  wa_message_id: z.string(),
  type: z.string(),
  /** JSON of OutboundContent. */
  content: z.string(),
  /** Current setting of the instance. */
  interactive_mode: z.enum(INTERACTIVE_MODES),
  quoted: QuotedMessage.nullable(),
  /** For a chat with a contact. The network states the setting of a group. */
  timer: Timer.optional(),
  /** The message as an earlier attempt built it, to be sent again unchanged. */
  built: base64().nullable(),
  ...SENT_FIELDS,
  /** When an earlier attempt started to send it: since then the message is unconfirmed. */
  attempted_at: time().nullable(),
  /** Trace context of the accept request, if its trace is kept. */
  traceparent: Traceparent.optional(),
});

/**
 * Claims at most `limit` messages and sets them to `sending`: the first message of each conversation, those claimed by an
 * older epoch first. With `followers`, then up to seven behind each of them that was never attempted. The messages of a
 * conversation come in their order. A repeat with the same claim id returns the same messages.
 */
const claims = {
  request: z.object({
    ...Numbered,
    /**
     * An earlier attempt had no response and may still arrive; from now on the API ignores it. Each attempt of a claim
     * has its own number. The API stores the number only for a repeat, so a claim without messages writes nothing.
     */
    repeated: z.boolean(),
    claim_id: uuid(),
    limit: z.int().min(1).max(500),
    /** Whether to claim the messages behind the first of a conversation too. */
    followers: z.boolean().default(false),
  }),
  response: z.object({ messages: z.array(ClaimedMessage) }),
};

const MenuOption = z.object({
  id: z.string(),
  label: z.string(),
  /** Null for options without a number: url, call and copy buttons, and poll options. */
  number: z.int().min(1).nullable(),
});
export type MenuOption = z.infer<typeof MenuOption>;

/** A menu as it was sent, to recognise the replies to it. */
const SentMenu = z.object({
  kind: z.enum(['interactive', 'poll']),
  /** Mode of an interactive message. Polls are always `native`. */
  mode: z.enum(INTERACTIVE_MODES),
  options: z.array(MenuOption).max(100),
  /** How many options of a poll a voter may select; null for an interactive message. */
  selectable: z.int().min(1).nullable(),
  /** Decrypts the votes in a poll. */
  secret: base64().optional(),
});
export type SentMenu = z.infer<typeof SentMenu>;

/**
 * Stores the encoded message before the engine sends its first stanza, and marks the start of the attempt. With `claim`, claims
 * the message first: the engine built it from its notification.
 */
const built = {
  request: z.object({
    ...Lease,
    messages: z
      .array(
        z.object({
          message_id: uuid(),
          built: base64(),
          ...SENT_FIELDS,
          /** To recognise replies to it, once it is sent. */
          menu: SentMenu.nullish(),
          /** For quotes of it. */
          card: messageCard().optional(),
          /** Refused if the message is not first in its conversation, was claimed before, or has another timer than `timer`. */
          claim: z.object({ claim_id: uuid(), timer: Timer.optional() }).optional(),
        }),
      )
      .min(1)
      .max(500),
  }),
  /**
   * The engine must not send the messages missing here: it is fenced, the message failed, the instance is deleted, or the
   * claim is refused.
   */
  response: z.object({ stored: z.array(uuid()) }),
};

/**
 * Reads the encoded form of a sent message, for a device of the contact that could not decrypt it. The API keeps it for
 * 24 hours; null if it is unknown or deleted.
 */
const sent = {
  request: z.object({
    ...Lease,
    wa_message_id: z.string().min(1).max(200),
    /** Reads a poll and its secret, for votes that the engine cannot decrypt. No other message is found. */
    poll: z.boolean().optional(),
  }),
  response: z.object({
    built: base64().nullable(),
    /** Absent: there is none, or the API is of an earlier release. */
    secret: base64().nullable().optional(),
  }),
};

/**
 * Reports that the network names a LID with a phone number. The engine waits for the answer before it builds a message
 * to that number: the contact may have opted out under the LID.
 */
const names = {
  request: z.object({
    ...Numbered,
    lid: z.string().regex(/^[0-9]{5,20}@lid$/),
    phone: z.string().regex(/^[0-9]{8,15}$/),
  }),
  response: z.object({}),
};

/** Reports usernames that the network states without a message; null: removed. Those of unknown LIDs have no effect. */
const usernames = {
  request: z.object({
    ...Lease,
    people: z
      .array(
        z.object({
          lid: z.string().regex(/^[0-9]{5,20}@lid$/),
          username: Username.nullable(),
          /** Absent: it may be older than one that is known. */
          at: time().optional(),
        }),
      )
      .min(1)
      .max(500),
  }),
  response: z.object({}),
};

/** Reports that the network restricts the instance from writing to new contacts until then; null: no longer. */
const restricted = {
  request: z.object({ ...Numbered, until: time().nullable() }),
  response: z.object({}),
};

const Outcome = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('sent'),
    message_id: uuid(),
    at: time(),
    ...SENT_FIELDS,
    traceparent: Traceparent.optional(),
  }),
  z.object({
    kind: z.literal('failed'),
    message_id: uuid(),
    at: time(),
    error: z.object({ code: z.enum(FAILURE_CODES), message: z.string().max(500).nullable() }),
    traceparent: Traceparent.optional(),
  }),
  /**
   * Claimed, but not written to the socket: goes from `sending` to `queued`, at its place in its conversation. The engine
   * also returns the later ones of the conversation that were not written either. If it was built, it stays unconfirmed,
   * unless `unsent` states that no earlier engine wrote it to the socket either.
   * `claim_id` names the returned claim, so that a late report does not undo a newer claim.
   */
  z.object({
    kind: z.literal('returned'),
    message_id: uuid(),
    claim_id: uuid(),
    unsent: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal('receipt'),
    wa_message_id: z.string().min(1).max(200),
    at: time(),
    ...RECEIPT_FIELDS,
  }),
]);

/** Records status, event and webhook deliveries of each outcome in one transaction. Repeats have no effect. */
const outcomes = {
  request: z.object({ ...Lease, outcomes: z.array(Outcome).min(1).max(500) }),
  response: z.object({
    /** A message of the instance can be claimed now. For later ones the engine gets a notification. */
    waiting: z.boolean().optional(),
  }),
};

/** Stores state changes of the engine with their events, in order, in one transaction. */
const state = {
  request: z.object({
    ...Numbered,
    changes: z
      .array(
        z.object({
          state: z.enum(INSTANCE_STATES),
          at: time(),
          reason: z.string().max(200).nullable(),
          /** Set by a pairing: the event `instance.paired` precedes the event of the state. */
          paired: z
            .object({
              jid: z.string(),
              /** Absent: the engine is of an earlier release. */
              lid: z.string().nullish(),
              business_name: z.string().nullable(),
              platform: z.string().nullable(),
            })
            .optional(),
          jid: z.string().nullable().optional(),
          lid: z.string().nullable().optional(),
          business_name: z.string().nullable().optional(),
          ban: z.object({ code: z.string(), expires_at: time().nullable() }).optional(),
          reconnect: z.object({ count: count(), at: time().nullable() }).optional(),
        }),
      )
      .min(1)
      .max(50),
  }),
  response: z.object({}),
};

const CODE_LIFE_MS = z.int().min(0).max(600_000);

/** Reports a code to show, or the failure of a pairing session. `state` reports a successful pairing. */
const pairing = {
  request: z.object({
    ...Numbered,
    session: uuid(),
    news: z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('qr'),
        code: z.string().min(1).max(2000),
        expires_in_ms: CODE_LIFE_MS,
      }),
      z.object({
        kind: z.literal('code'),
        code: z.string().min(1).max(20),
        expires_in_ms: CODE_LIFE_MS,
      }),
      z.object({ kind: z.literal('passkey'), options: PasskeyOptions, expires_in_ms: CODE_LIFE_MS }),
      z.object({
        kind: z.literal('passkey_code'),
        code: z.string().min(1).max(20),
        expires_in_ms: CODE_LIFE_MS,
      }),
      z.object({ kind: z.literal('failed'), reason: z.string().max(200) }),
    ]),
  }),
  /** False: the session is closed, and the engine must stop showing codes. */
  response: z.object({ open: z.boolean() }),
};

/**
 * Reports that the engine has unlinked the device, or could not: the logout request with this id is done. The engine
 * of a deleted instance may still call this (then `id` may be null), `outcomes` and `release`.
 */
const unlinked = { request: z.object({ ...Lease, id: uuid().nullable() }), response: z.object({}) };

const clientVersionText = () => z.string().regex(CLIENT_VERSION);

/**
 * Asks which client version to announce to the network, and reports how the network took the last one:
 * - `connecting`: before a connection. Without an answer the engine announces its last version, a new one the bundled version.
 * - `refused`: the network has refused `version` (405, 409). The engine connects again at once if the answer names another.
 * - `waiting`: the engine is offline because of a refusal, and asks with each renewal of its lease.
 * - `connected`: the network has accepted `version`.
 */
const clientVersion = {
  request: z.object({
    ...Lease,
    event: z.enum(['connecting', 'refused', 'waiting', 'connected']),
    /** For `refused` and `connected`. */
    version: clientVersionText().nullable(),
    bundled: clientVersionText(),
    /** Whether the engine follows the network, or uses the version of its Baileys unless another is pinned. */
    setting: z.enum(['auto', 'bundled']),
    pairing: z.boolean(),
    /** Versions that the network has refused to this engine, as long as `target` is the API's. */
    refused: z.array(clientVersionText()).max(20),
    target: z.string().max(100).nullable(),
  }),
  response: z.object({
    /** Null: there is none that may succeed now. */
    version: z.string().nullable(),
    /** The pinned and the served version. When one changes, earlier refusals no longer count. */
    target: z.string(),
    /** Without a version: one may be known by then. Null: not expected. */
    retry_after_ms: z.int().nullable(),
  }),
};

const SessionEntry = z.object({
  type: z.string().max(100),
  key: z.string().max(500),
  value: base64().nullable(),
});

const sessionRead = {
  request: z.object({
    ...Lease,
    /** `keys` null: all keys of the type. */
    wanted: z
      .array(z.object({ type: z.string().max(100), keys: z.array(z.string().max(500)).max(5000).nullable() }))
      .max(100),
    /** Reads on after this entry. */
    after: z.object({ type: z.string().max(100), key: z.string().max(500) }).optional(),
  }),
  response: z.object({
    entries: z.array(SessionEntry),
    /** There are more entries, after the last one of these. */
    more: z.boolean().optional(),
  }),
};

/** Writes the entries in one transaction, durable when the API answers. A null value removes the key. */
const sessionWrite = {
  request: z.object({ ...Numbered, entries: z.array(SessionEntry).min(1).max(5000) }),
  response: z.object({}),
};

/**
 * Stores contact, event and webhook deliveries of each message in one transaction. Duplicates by (instance, chat,
 * sender, id) are ignored.
 */
const inbound = {
  request: z.object({ ...Lease, messages: z.array(InboundMessage).min(1).max(500) }),
  response: z.object({}),
};

/** Stores the events of calls and of changes of groups in one transaction. Repeats have no effect. */
const notices = {
  request: z.object({ ...Lease, notices: z.array(Notice).min(1).max(100) }),
  response: z.object({}),
};

/**
 * `POST {base}/engine/media-download` returns the prepared file of a message that this lease has claimed. The API
 * refuses it with `invalid` if the message is not claimed or the file is deleted.
 */
export const MediaDownload = z.object({ ...Lease, message_id: uuid() });
export type MediaDownload = z.infer<typeof MediaDownload>;

/**
 * `POST {base}/engine/media-upload?...` stores a received file, sent as the body. The inbound message
 * refers to it by the id in the response.
 */
export const MediaUploadQuery = z.object({
  epoch: z.coerce.number().int(),
  holder: uuid(),
  /** As sent by the network. */
  mimetype: z.string().max(120).optional(),
  filename: z.string().max(255).optional(),
  /** As stated by the sender. */
  size: z.coerce.number().int().optional(),
});
export type ReceivedFileHints = Omit<z.infer<typeof MediaUploadQuery>, 'epoch' | 'holder'>;
export interface MediaUploadResponse {
  media_id: string;
  mimetype: string;
  size: number;
  /** In hex. */
  sha256: string;
}

export const ENGINE_ROUTES = {
  acquire,
  renew,
  release,
  'redis-user': redisUser,
  claims,
  names,
  usernames,
  built,
  sent,
  restricted,
  outcomes,
  state,
  pairing,
  unlinked,
  'client-version': clientVersion,
  'session-read': sessionRead,
  'session-write': sessionWrite,
  inbound,
  notices,
} as const;

export type EngineRoute = keyof typeof ENGINE_ROUTES;
export type EngineRequest<R extends EngineRoute> = z.input<(typeof ENGINE_ROUTES)[R]['request']>;
export type EngineResponse<R extends EngineRoute> = z.infer<(typeof ENGINE_ROUTES)[R]['response']>;
export type ClaimedMessage = z.infer<typeof ClaimedMessage>;
export type Outcome = z.infer<typeof Outcome>;
export type PairingUpdate = EngineRequest<'pairing'>['news'];
export type StateChange = EngineRequest<'state'>['changes'][number];
export type SessionEntry = z.infer<typeof SessionEntry>;
/** The body of a call without lease and number, which the client adds. */
export type CallBody<R extends EngineRoute> = Omit<EngineRequest<R>, keyof LeaseIdentity | 'number'>;
export type BuiltMessageRecord = CallBody<'built'>['messages'][number];
/** Epoch and holder identify a lease. */
export interface LeaseIdentity {
  epoch: number;
  holder: string;
}

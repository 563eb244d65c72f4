import { z } from 'zod';
import { PAIRING_METHODS } from '../resources/pairing.js';
import { FAILURE_CODES, INSTANCE_KINDS, INSTANCE_STATES, INTERACTIVE_MODES, RENDERINGS } from '../states.js';

/**
 * The internal port as engines use it (design: Who talks to whom). JSON over HTTP, `POST {base}/engine/<route>`,
 * authenticated by the token of one instance's pod. Every call but `acquire` names the lease by epoch and holder;
 * where they are not the present ones the answer is 409 with `{"error":"fenced"}` and the engine closes its socket
 * and exits. All ids are UUIDs without prefix; times are ISO 8601; bytes are base64.
 *
 * One schema gives both sides: the API validates requests with it, the engine takes its types (and imports no zod).
 */
const uuid = () => z.uuid();
/** What Postgres takes, so that no item can be refused by it again and again: years from 1, numbers of 32 bits. */
const time = () => z.iso.datetime().refine((text) => !text.startsWith('0000'), 'there is no year 0');
const count = () => z.int32();
const base64 = () => z.base64();
const Lease = { epoch: count(), holder: uuid() };
/**
 * For calls whose order matters. `number`: of this call among those of its route under this lease, from 1 on; a repeated
 * call keeps its own (a claim does not, see there). A call whose answer was late is repeated, and may come through after
 * the repeat and what followed: then it is answered and left out.
 */
const Numbered = { ...Lease, number: z.int().min(1) };

/** An open pairing session: the engine is to show codes for it, unless it does already. */
const OpenPairing = z.object({
  session: uuid(),
  method: z.enum(PAIRING_METHODS),
  /** Digits, for the method `code`. */
  phone: z.string().nullable(),
});
export type OpenPairing = z.infer<typeof OpenPairing>;

/** What the rows ask of the connection beside its sends; repeated with every renewal, so that no bell is relied on. */
const Wanted = {
  pairing: OpenPairing.nullable(),
  /** Logged out by the API: the device is to be unlinked, and told of by this id (`unlinked`). */
  unlink: uuid().nullable(),
};

const acquire = {
  request: z.strictObject({
    pod: z.string().min(1).max(253),
    version: z.string().max(100),
    /** Chosen once by an engine's process: asked again after a lost answer, the lease is still its own. */
    holder: uuid().optional(),
  }),
  response: z.object({
    epoch: z.int(),
    holder: uuid(),
    /** Counted from the moment the request was sent. */
    lease_ms: z.int(),
    renew_ms: z.int(),
    instance: z.object({
      id: uuid(),
      kind: z.enum(INSTANCE_KINDS),
      state: z.enum(INSTANCE_STATES),
      first_paired_at: time().nullable(),
      banned_until: time().nullable(),
      reconnect_count: z.int(),
      reconnect_at: time().nullable(),
    }),
    ...Wanted,
    messages_per_minute: z.int(),
    redis: z.object({
      url: z.string(),
      username: z.string().nullable(),
      password: z.string().nullable(),
      key_prefix: z.string(),
      /** Certificate authority (PEM) that a `rediss://` address is checked against; the public ones when absent. */
      ca: z.string().optional(),
    }),
    command_key: base64(),
  }),
};

const renew = {
  request: z.strictObject({ ...Lease, connected: z.boolean() }),
  response: z.object({
    lease_ms: z.int(),
    messages_per_minute: z.int(),
    ...Wanted,
  }),
};

/** After the socket is closed: the next engine need not wait for the lease to end. */
const release = { request: z.strictObject({ ...Lease }), response: z.object({}) };

/** Redis forgot this engine's user (FLUSHALL keeps users, a new Redis does not): makes it again. */
const redisUser = { request: z.strictObject({ ...Lease }), response: z.object({}) };

/** The message that one answers, as far as it is still known: only its text may be gone, and is empty then. */
const QuotedMessage = z.object({
  wa_message_id: z.string(),
  /** Network id of its conversation, which need not be that of the answer. */
  chat: z.string(),
  from_me: z.boolean(),
  /** Who wrote it, in a group. */
  participant: z.string().nullable(),
  type: z.string(),
  text: z.string(),
});
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/** W3C trace context: what a span of another program goes on from (tracing/tracing.ts). */
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
  /** Of the instance, as it is now. */
  interactive_mode: z.enum(INTERACTIVE_MODES),
  quoted: QuotedMessage.nullable(),
  /** What an earlier attempt built; sent again as it is. */
  built: base64().nullable(),
  rendered_as: z.enum(RENDERINGS).nullable(),
  /** When an earlier attempt began to send: since then the message is in doubt. */
  attempted_at: time().nullable(),
  /** Of its acceptance, where its trace is kept. */
  traceparent: Traceparent.optional(),
});

/**
 * The first waiting message of each conversation, in turns, at most `limit`; each becomes `sending`. What an older
 * epoch held comes first. A repeat gets what its claim id took before.
 */
const claims = {
  request: z.strictObject({
    ...Numbered,
    /**
     * An attempt before this one had no answer and may come through yet: from here on it is left out. Of claims each
     * attempt has a number of its own, and this alone has it written: a look that finds nothing writes nothing.
     */
    repeated: z.boolean(),
    claim_id: uuid(),
    limit: z.int().min(1).max(500),
  }),
  response: z.object({ messages: z.array(ClaimedMessage) }),
};

const SentMenu = z.strictObject({
  kind: z.enum(['interactive', 'poll']),
  mode: z.enum(INTERACTIVE_MODES),
  options: z
    .array(z.strictObject({ id: z.string(), label: z.string(), number: z.int().min(1).nullable() }))
    .max(100),
  selectable: z.int().min(1).nullable(),
});

/** Before the first stanza of a message: its encoded form, durable from here on; the attempt begins. */
const built = {
  request: z.strictObject({
    ...Lease,
    messages: z
      .array(
        z.strictObject({
          message_id: uuid(),
          built: base64(),
          rendered_as: z.enum(RENDERINGS).nullable(),
          /** What answers to it are recognised by, once it has left. */
          menu: SentMenu.nullish(),
        }),
      )
      .min(1)
      .max(500),
  }),
  /** A message missing here is no longer this engine's to send (fenced apart, a failed doubt, a deleted instance). */
  response: z.object({ stored: z.array(uuid()) }),
};

/**
 * What was built of a message that has left, for a device of the contact that could not read it: kept for 24 hours.
 * Null where it is not known, or not any more.
 */
const sent = {
  request: z.strictObject({ ...Lease, wa_message_id: z.string().min(1).max(200) }),
  response: z.object({ built: base64().nullable() }),
};

/** The network keeps the number from reaching new contacts until then; null: no longer. */
const restricted = {
  request: z.strictObject({ ...Numbered, until: time().nullable() }),
  response: z.object({}),
};

const Outcome = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('sent'),
    message_id: uuid(),
    at: time(),
    rendered_as: z.enum(RENDERINGS).nullable(),
    traceparent: Traceparent.optional(),
  }),
  z.strictObject({
    kind: z.literal('failed'),
    message_id: uuid(),
    at: time(),
    error: z.strictObject({ code: z.enum(FAILURE_CODES), message: z.string().max(500).nullable() }),
    traceparent: Traceparent.optional(),
  }),
  /**
   * Claimed and not given to the socket: `sending` -> `queued`, at the head of its conversation. Where it was built,
   * only `unsent` says that no earlier engine has given it to the socket either: else it stays in doubt. By the claim
   * that is given back: heard late, it must not undo a later one.
   */
  z.strictObject({
    kind: z.literal('returned'),
    message_id: uuid(),
    claim_id: uuid(),
    unsent: z.boolean().optional(),
  }),
  z.strictObject({
    kind: z.literal('receipt'),
    wa_message_id: z.string().min(1).max(200),
    status: z.enum(['delivered', 'read']),
    at: time(),
    played: z.boolean().optional(),
  }),
]);

/** Status, event and deliveries of each in one transaction. Repeating an outcome changes nothing. */
const outcomes = {
  request: z.strictObject({ ...Lease, outcomes: z.array(Outcome).min(1).max(500) }),
  response: z.object({
    /** Something can be claimed now: the next of a conversation of theirs, or whatever else. What comes later rings. */
    waiting: z.boolean().optional(),
  }),
};

/** The engine's state machine writes the stored state, with its event, in one transaction, in this order. */
const state = {
  request: z.strictObject({
    ...Numbered,
    changes: z
      .array(
        z.strictObject({
          state: z.enum(INSTANCE_STATES),
          at: time(),
          reason: z.string().max(200).nullable(),
          /** Set by a pairing: `instance.paired` precedes the state's own event. */
          paired: z
            .strictObject({
              jid: z.string(),
              business_name: z.string().nullable(),
              platform: z.string().nullable(),
            })
            .optional(),
          jid: z.string().nullable().optional(),
          business_name: z.string().nullable().optional(),
          ban: z.strictObject({ code: z.string(), expires_at: time().nullable() }).optional(),
          reconnect: z.strictObject({ count: count(), at: time().nullable() }).optional(),
        }),
      )
      .min(1)
      .max(50),
  }),
  response: z.object({}),
};

const CODE_LIFE_MS = z.int().min(0).max(600_000);

/** What there is to show of a pairing session, or why it ended; a pairing that succeeds is told with `state`. */
const pairing = {
  request: z.strictObject({
    ...Numbered,
    session: uuid(),
    news: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('qr'),
        code: z.string().min(1).max(2000),
        expires_in_ms: CODE_LIFE_MS,
      }),
      z.strictObject({
        kind: z.literal('code'),
        code: z.string().min(1).max(20),
        expires_in_ms: CODE_LIFE_MS,
      }),
      z.strictObject({ kind: z.literal('failed'), reason: z.string().max(200) }),
    ]),
  }),
  /** False: the session is not open any more, and nothing is to be shown for it. */
  response: z.object({ open: z.boolean() }),
};

/**
 * The device is unlinked, or cannot be: what was asked for by this id is done. The one call that is heard of a deleted
 * instance too (null: whatever was asked for), and then only says that the device is unlinked.
 */
const unlinked = { request: z.strictObject({ ...Lease, id: uuid().nullable() }), response: z.object({}) };

const SessionEntry = z.strictObject({
  type: z.string().max(100),
  key: z.string().max(500),
  value: base64().nullable(),
});

const sessionRead = {
  request: z.strictObject({
    ...Lease,
    /** All keys of a type where `keys` is null. */
    wanted: z
      .array(z.strictObject({ type: z.string().max(100), keys: z.array(z.string().max(500)).nullable() }))
      .max(100),
  }),
  response: z.object({ entries: z.array(SessionEntry) }),
};

/** One transaction; durable when the answer comes. A null value removes the key. */
const sessionWrite = {
  request: z.strictObject({ ...Numbered, entries: z.array(SessionEntry).min(1).max(5000) }),
  response: z.object({}),
};

/** What a message on its way in can be (spec: message.received). */
const INBOUND_TYPES = [
  'text',
  'image',
  'video',
  'audio',
  'document',
  'sticker',
  'location',
  'contact',
  'poll',
  'interactive',
  'other',
] as const;

/** A click names its option and the message that was answered. */
const Click = z.strictObject({
  option_id: z.string().min(1).max(500),
  /** Null where the network tells the id alone. */
  label: z.string().max(500).nullable(),
  source: z.enum(['native_flow', 'button', 'template_button', 'list']),
  in_reply_to_wa_message_id: z.string().max(200).nullable(),
});

/** The whole choice of one voter as it is now; nothing: the vote was withdrawn. */
const PollVote = z.strictObject({
  poll_wa_message_id: z.string().min(1).max(200),
  /** SHA-256 of each option's label, in hex: how the network names them. */
  chosen: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(12),
});

/** What happened to an earlier message of the conversation. */
const Change = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('edit'),
    wa_message_id: z.string().min(1).max(200),
    text: z.string().max(70_000),
  }),
  z.strictObject({ kind: z.literal('delete'), wa_message_id: z.string().min(1).max(200) }),
  /** An empty emoji removes the reaction. */
  z.strictObject({
    kind: z.literal('reaction'),
    wa_message_id: z.string().min(1).max(200),
    emoji: z.string().max(100),
  }),
]);

/** A file that came with a message: kept before by `media-upload`, or why there is none. */
const InboundMedia = z.union([
  z.strictObject({
    media_id: uuid(),
    duration_s: z.number().min(0).max(1_000_000).optional(),
    voice: z.boolean().optional(),
  }),
  z.strictObject({ error: z.string().min(1).max(200) }),
]);

const InboundMessage = z.strictObject({
  wa_message_id: z.string().min(1).max(200),
  /** Network id of the conversation. */
  chat: z.string().max(100),
  /** Network id of the sender: the contact, or the member of the group. */
  from: z.string().max(100),
  /**
   * The other id of the contact (of a direct chat) or of the sender (within a group), where the network tells both the
   * phone and the hidden one: what is known under either is one contact from here on.
   */
  alt: z.string().max(100).nullish(),
  from_name: z.string().max(300).nullable(),
  from_me: z.boolean(),
  at: time(),
  type: z.enum(INBOUND_TYPES),
  text: z.string().max(70_000).nullable(),
  quoted_wa_message_id: z.string().max(200).nullable(),
  is_forwarded: z.boolean().optional(),
  /** Network ids. */
  mentions: z.array(z.string().max(100)).max(1024).optional(),
  location: z
    .strictObject({
      latitude: z.number(),
      longitude: z.number(),
      name: z.string().max(1000).optional(),
      address: z.string().max(1000).optional(),
    })
    .optional(),
  contacts: z
    .array(z.strictObject({ name: z.string().max(1000), phones: z.array(z.string().max(100)).max(50) }))
    .max(300)
    .optional(),
  media: InboundMedia.optional(),
  /** At most one of these three; a change makes no message of its own. */
  click: Click.optional(),
  vote: PollVote.optional(),
  change: Change.optional(),
});
export type InboundMessage = z.infer<typeof InboundMessage>;

/** De-duplicated by (instance, chat, sender, id); contact, event and deliveries of each in one transaction. */
const inbound = {
  request: z.strictObject({ ...Lease, messages: z.array(InboundMessage).min(1).max(500) }),
  response: z.object({}),
};

/**
 * `POST {base}/engine/media-download`, answered with the bytes: the finished file of a message that this lease has
 * claimed. Refused with `invalid` where it is not claimed, or its file is gone.
 */
export const MediaDownload = z.strictObject({ ...Lease, message_id: uuid() });
export type MediaDownload = z.infer<typeof MediaDownload>;

/**
 * `POST {base}/engine/media-upload?...`: a received file, as the body; at most 64 MB. It belongs to the instance from
 * then on; the inbound message names it by the id in the answer.
 */
export const MediaUploadQuery = z.strictObject({
  epoch: z.coerce.number().int(),
  holder: uuid(),
  /** As the network calls it. */
  mimetype: z.string().max(120).optional(),
  filename: z.string().max(255).optional(),
});
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
  built,
  sent,
  restricted,
  outcomes,
  state,
  pairing,
  unlinked,
  'session-read': sessionRead,
  'session-write': sessionWrite,
  inbound,
} as const;

export type EngineRoute = keyof typeof ENGINE_ROUTES;
export type EngineRequest<R extends EngineRoute> = z.input<(typeof ENGINE_ROUTES)[R]['request']>;
export type EngineResponse<R extends EngineRoute> = z.infer<(typeof ENGINE_ROUTES)[R]['response']>;
export type ClaimedMessage = z.infer<typeof ClaimedMessage>;
export type Outcome = z.infer<typeof Outcome>;
export type PairingUpdate = EngineRequest<'pairing'>['news'];
export type StateChange = EngineRequest<'state'>['changes'][number];
export type SessionEntry = z.infer<typeof SessionEntry>;
/** What a call says; in whose name, and with which number, is added where it is made. */
export type CallBody<R extends EngineRoute> = Omit<EngineRequest<R>, keyof LeaseIdentity | 'number'>;
/** Epoch and holder: the name of a lease. */
export interface LeaseIdentity {
  epoch: number;
  holder: string;
}

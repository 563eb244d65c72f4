import type { Readable } from 'node:stream';
import type {
  ClaimedMessage,
  EngineRequest,
  OpenPairing,
  MediaUploadResponse,
  ReceivedFileHints,
  SessionEntry,
  SentMenu,
} from '@gwk/core/protocol/engine';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Notice } from '@gwk/core/protocol/notices';
import type { OutboundEdit } from '@gwk/core/protocol/commands';
import type { LinkedNames } from '@gwk/core/ids/recipients';
import type { Logger } from '@gwk/core/process/log';
import type { GroupDetailsOut, GroupOut } from '@gwk/core/resources/group';
import type { Presence } from '@gwk/core/resources/live';
import type { PasskeyOptions } from '@gwk/core/resources/pairing';
import type { ReceiptFields, SentFields } from '@gwk/core/resources/message';
import type { FailureCode } from '@gwk/core/states';

/**
 * Connects an engine to a network. A driver knows the network and nothing of leases, queues or pacing.
 *
 * `connect`, `close` and `logout` are called one after the other, `build` and `send` concurrently for different
 * chats. A lookup for one chat must not delay another, so it runs outside any lock of the account.
 */
export interface Driver {
  /**
   * Opens the connection and returns at once. It reports events to `listen`, until `closed` or until `close` is
   * called.
   * @param pairing a pairing session: discards the stored session first. Null: logs in.
   */
  connect(listen: (event: ConnectionEvent) => void, pairing: OpenPairing | null): void;

  /** Resolves once nothing can be written any more. From the call on, nothing new is written. */
  close(): Promise<void>;

  /**
   * Unlinks the device, connecting for it if necessary within its own time limit. Discards the session in any case.
   * Without a session there is nothing to unlink.
   * @returns whether the network unlinked the device; otherwise it still takes a slot on the phone
   */
  logout(): Promise<boolean>;

  /**
   * Answers the request for a passkey in a pairing, or says whether the codes on both sides are equal.
   * @throws PasskeyNotAwaited
   */
  takePasskey(step: PasskeyStep): Promise<void>;

  /**
   * The network's ids of a phone number (digits) or LID; null when it is not on the network.
   * @throws SendFailure
   */
  checkContact(name: string): Promise<FoundContact | null>;

  /**
   * Marks received messages as read.
   * @throws SendFailure
   */
  markRead(chat: string, messages: readonly ReadMessage[]): Promise<void>;

  /**
   * All groups of the number.
   * @throws SendFailure
   */
  listGroups(): Promise<GroupOut[]>;

  /** @throws SendFailure: refused if the group does not exist or the number is not in it */
  findGroup(jid: string): Promise<GroupDetailsOut>;

  /** @throws SendFailure */
  sendPresence(chat: string, presence: Presence): Promise<void>;

  /**
   * Builds the message in the network's form. Everything that would differ the second time is decided here, because
   * these bytes are stored before the first attempt and sent again on every later one.
   * @throws SendFailure, certain
   */
  build(message: ClaimedMessage): Promise<EncodedMessage>;

  /**
   * Writes the stanza. Resolves when the network has acknowledged it.
   * @throws SendFailure; any other error counts as unconfirmed
   */
  send(stanza: Stanza): Promise<void>;

  /**
   * Edits, deletes for everyone, or reacts to a sent or received message. Resolves at the network's
   * acknowledgement. Repeating it with the same id has no further effect.
   * @throws SendFailure, NotAdminError
   */
  edit(edit: OutboundEdit, options: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void>;
}

/** A contact as the network knows it. `jid` is the LID if the phone number is unknown. */
export interface FoundContact {
  jid: string;
  lid: string | null;
}

export interface ReadMessage {
  wa_message_id: string;
  /** The author, in a group. */
  participant: string | null;
  /** The broadcast list by which the message came. */
  list?: string;
}

export interface EncodedMessage extends SentFields {
  bytes: Buffer;
  /** The options as they were sent, for a message that accepts replies. */
  menu: SentMenu | null;
  /** For quotes of it; absent for a message that is quoted as its text. */
  card?: Buffer;
}

export interface Stanza {
  /** Chosen when the message is accepted. Recipients drop a second message with the same id. */
  waMessageId: string;
  chat: string;
  bytes: Buffer;
  /**
   * Await before writing the stanza to the socket: resolves once the bytes are stored. Rejects if they must not be sent;
   * then write nothing. Absent if they are stored already.
   */
  stored?: Promise<void>;
  /**
   * Check immediately before writing the stanza to the socket, without awaiting anything in between. False means
   * that another engine may own the instance: write nothing and reject with `SendFailure.notWritten()`.
   */
  mayWrite: () => boolean;
  /** Aborted when the engine no longer waits for the acknowledgement. */
  signal: AbortSignal;
}

/** Describes a failed send. Callers decide by its fields, not by error classes. */
export class SendFailure extends Error {
  override name = 'SendFailure';
  /** Whether it is certain that this attempt did not reach the network. */
  readonly certain: boolean;
  /** Whether retrying may help. An uncertain attempt is always retried, with the same id and bytes. */
  readonly retriable: boolean;
  /** The error code if the message fails for good. */
  readonly code: FailureCode;
  /** Text for the API consumer; contains no message content. */
  readonly text: string | null;
  /** The network's code of a refused message. */
  readonly networkCode: string | null;

  constructor(failure: {
    certain: boolean;
    retriable: boolean;
    code: FailureCode;
    text?: string | null;
    networkCode?: string;
  }) {
    super(failure.text ?? failure.code);
    this.certain = failure.certain;
    this.retriable = failure.retriable;
    this.code = failure.code;
    this.text = failure.text ?? null;
    this.networkCode = failure.networkCode ?? null;
  }

  /** Whether the network has refused it because the phone number sends too much. */
  get limitsRate(): boolean {
    return this.certain && this.networkCode === '429';
  }

  /** The network or the message itself rules out success. */
  static refused(code: FailureCode, text: string | null = null): SendFailure {
    return new SendFailure({ certain: true, retriable: false, code, text });
  }

  /** The network has refused it, and may accept it later. */
  static refusedForNow(text: string, networkCode: string): SendFailure {
    return new SendFailure({ certain: true, retriable: true, code: 'wa_error', text, networkCode });
  }

  /** Nothing was written to the socket. */
  static notWritten(): SendFailure {
    return new SendFailure({ certain: true, retriable: true, code: 'not_connected' });
  }

  /** Written to the socket, but not answered. */
  static unconfirmed(): SendFailure {
    return new SendFailure({ certain: false, retriable: true, code: 'timeout' });
  }
}

/** Only admins of a group may delete messages of its other members. */
export class NotAdminError extends Error {
  override name = 'NotAdminError';
}

/** `credential`: the JSON of the assertion, for the network. */
export type PasskeyStep = { kind: 'assertion'; credential: string } | { kind: 'comparison'; equal: boolean };

/** The pairing does not wait for this step. */
export class PasskeyNotAwaited extends Error {
  override name = 'PasskeyNotAwaited';
}

/** How a connection ended. */
export type Disconnect =
  /** `at-once`: the network asked for it (515). `slowly`: it rejects this client version (405, 409). */
  | { kind: 'dropped'; reason: string; reconnect?: 'at-once' | 'slowly' }
  | { kind: 'logged-out'; reason: string }
  | { kind: 'banned'; code: string; expiresAt: Date | null }
  /** The network refuses the pairing, or nobody scanned its codes. */
  | { kind: 'pairing-failed'; reason: string }
  /** Another connection with the same credentials took over (440): never reconnect. */
  | { kind: 'replaced' };

export interface PairedDevice {
  jid: string;
  lid?: string | null;
  business_name: string | null;
  platform: string | null;
}

export type ConnectionEvent =
  | { kind: 'qr'; code: string; expiresInMs: number }
  /** To be typed on the phone. */
  | { kind: 'pairing-code'; code: string; expiresInMs: number }
  /** The phone requires a passkey. `options`: WebAuthn options of the network. */
  | { kind: 'passkey'; options: PasskeyOptions; expiresInMs: number }
  /** To be compared with the code on the phone. */
  | { kind: 'passkey-code'; code: string; expiresInMs: number }
  | { kind: 'paired'; device: PairedDevice }
  | { kind: 'opened'; jid: string; lid: string | null; business_name: string | null }
  | { kind: 'closed'; disconnect: Disconnect };

export interface Receipt extends ReceiptFields {
  waMessageId: string;
  at: Date;
}

/** Services of the engine for its driver. */
export interface DriverContext {
  instanceId: string;
  pod: string;
  epoch: number;
  log: Logger;
  /** Whether the lease is valid by the clock. Once it is not, nothing may reach the network. */
  isLeased: () => boolean;
  session: RemoteSessionStore;
  /**
   * Streams the finished file of a message.
   * @throws InternalApiRefusal when it no longer exists
   */
  readFile: <T>(messageId: string, read: (file: Readable) => Promise<T>) => Promise<T>;
  /**
   * The built bytes of a sent message, built by this engine or an earlier one; null when they are no longer stored.
   */
  readSentMessage: (waMessageId: string) => Promise<Buffer | null>;
  /** The secret of a sent poll, and its built bytes as long as they are stored. */
  readPoll: (waMessageId: string) => Promise<{ secret: Buffer | null; built: Buffer | null }>;
  /** Resolves once the API knows that the phone number (digits) and the LID are one contact. */
  storeNames: (names: LinkedNames) => Promise<void>;
  /** Stores usernames that come without a message; null: removed. Resolves once stored. */
  storeUsernames: (people: EngineRequest<'usernames'>['people']) => Promise<void>;
  /** Stores that the network restricts new contacts until then; null: no longer. */
  storeRestriction: (until: Date | null) => Promise<void>;
  /**
   * Stores a received file to its end.
   * @throws errors of the source, InternalApiRefusal, InternalApiUnreachable
   */
  storeFile: (file: Readable, named: ReceivedFileHints) => Promise<MediaUploadResponse>;
  /** Resolves once stored. Only then may the driver acknowledge the receipt to the network. */
  storeReceipt: (receipt: Receipt) => Promise<void>;
  /** Resolves once stored. Only then may the driver acknowledge the message or delete its journal entry. */
  storeInbound: (message: InboundMessage) => Promise<void>;
  /** Whether the policy rejects calls. Undefined: the API is of an earlier release, and takes no notices. */
  rejectsCalls: () => boolean | undefined;
  /** Resolves once stored. Only then may the driver acknowledge its stanza to the network. */
  storeNotice: (notice: Notice) => Promise<void>;
  clientVersions: ClientVersionChooser;
  /** Counts a received message or call without an effect. */
  countIgnored: (reason: string) => void;
}

/** Client versions to announce to the network. */
export interface ClientVersionChooser {
  /** The version of the next connection; null: wait, because another instance is trying a new one. */
  choose(pairing: boolean): Promise<string | null>;
  /** The network has refused the version. Resolves to another one to connect with at once, or to null. */
  replaceRefused(version: string, pairing: boolean): Promise<string | null>;
  /** After null: whether the API expects a version soon. */
  readonly isExpected: boolean;
  /** The network has accepted the version. */
  confirm(version: string): void;
}

/** Credentials and keys of the session. A write is durable when it resolves. */
export interface RemoteSessionStore {
  read(type: string, keys: string[] | null): Promise<SessionEntry[]>;
  write(entries: SessionEntry[]): Promise<void>;
}

import type { Readable } from 'node:stream';
import type {
  ClaimedMessage,
  InboundMessage,
  OpenPairing,
  MediaUploadResponse,
  SessionEntry,
} from '@gwk/core/protocol/engine';
import type { SentMenu } from '@gwk/core/menus/sent-menu';
import type { OutboundEdit } from '@gwk/core/protocol/edits';
import type { Logger } from '@gwk/core/log';
import type { Presence } from '@gwk/core/resources/live';
import type { FailureCode, Rendering } from '@gwk/core/states';

/**
 * What stands between an engine and a network. A driver knows the network and nothing of leases, queues or pacing;
 * the engine knows those and nothing of the network.
 *
 * Threads of a driver: `connect`, `close` and `logout` are called one after the other; `build` and `send` of
 * different chats at any time and side by side. A look-up that one chat needs (is it on the network, which devices)
 * must never make another wait: it is done outside any lock of the account.
 */
export interface Driver {
  /**
   * Opens the connection and returns at once; what comes of it is told to `listen`, which hears nothing more after
   * `closed`, or after `close` was called.
   * @param pairing the phone is to link this device: whatever session there was is forgotten first. Null: log in.
   */
  connect(listen: (event: ConnectionEvent) => void, pairing: OpenPairing | null): void;

  /** Resolves once nothing can be written any more. From the call on, nothing new is written. */
  close(): Promise<void>;

  /**
   * Unlinks the device, connecting for it where need be and within a time limit of its own, and forgets the session
   * whatever came of that. Without a session there is nothing to unlink.
   * @returns whether the network has unlinked it: otherwise a slot of the phone is still taken
   */
  logout(): Promise<boolean>;

  /**
   * The id by which the network knows a phone; null where it knows none.
   * @throws SendFailure
   */
  checkContact(phone: string): Promise<string | null>;

  /**
   * Tells the other side that messages which came in were read.
   * @throws SendFailure
   */
  markRead(chat: string, messages: readonly ReadMessage[]): Promise<void>;

  /** @throws SendFailure */
  sendPresence(chat: string, presence: Presence): Promise<void>;

  /**
   * The message as the network takes it. Everything that would come out differently a second time is decided here,
   * since these bytes are stored before the first attempt and every later one sends them again.
   * @throws SendFailure, certain
   */
  build(message: ClaimedMessage): Promise<EncodedMessage>;

  /**
   * Writes the stanza; resolves when the network has accepted it, that is, at its acknowledgement.
   * @throws SendFailure; anything else thrown counts as doubt
   */
  send(stanza: Stanza): Promise<void>;

  /**
   * Edits, deletes for everyone, or reacts to, a message that has left or came in; resolves at the network's
   * acknowledgement. Coming again with the same id it changes nothing more.
   * @throws SendFailure
   */
  edit(change: OutboundEdit, writing: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void>;
}

export interface ReadMessage {
  wa_message_id: string;
  /** Who wrote it, in a group. */
  participant: string | null;
}

export interface EncodedMessage {
  bytes: Buffer;
  rendered_as: Rendering | null;
  /** Of what accepts replies: the options as they really left. */
  menu: SentMenu | null;
}

export interface Stanza {
  /** Chosen at acceptance; recipients drop a second one with the same id. */
  waMessageId: string;
  chat: string;
  bytes: Buffer;
  /**
   * To be asked immediately before the stanza is given to the socket, with nothing awaited in between: false means
   * that the number may no longer be ours, and nothing may be written. Then reject with `SendFailure.notWritten()`.
   */
  mayWrite: () => boolean;
  /** The engine no longer waits for this stanza's acknowledgement. */
  signal: AbortSignal;
}

/** What is known of a send that failed (one value instead of error classes to be told apart). */
export class SendFailure extends Error {
  override name = 'SendFailure';
  /** Whether it is certain that this attempt did not reach the network. */
  readonly certain: boolean;
  /** Whether trying again may help. An uncertain one is always tried again, with the same id and bytes. */
  readonly retriable: boolean;
  /** What the message fails with, where it does. */
  readonly code: FailureCode;
  /** For the consumer; never holds content. */
  readonly text: string | null;

  constructor(what: { certain: boolean; retriable: boolean; code: FailureCode; text?: string | null }) {
    super(what.text ?? what.code);
    this.certain = what.certain;
    this.retriable = what.retriable;
    this.code = what.code;
    this.text = what.text ?? null;
  }

  /** The network, or the message itself, says no. */
  static refused(code: FailureCode, text: string | null = null): SendFailure {
    return new SendFailure({ certain: true, retriable: false, code, text });
  }

  /** Nothing was given to the socket. */
  static notWritten(): SendFailure {
    return new SendFailure({ certain: true, retriable: true, code: 'not_connected' });
  }

  /** It was given to the socket, and no answer came. */
  static unconfirmed(): SendFailure {
    return new SendFailure({ certain: false, retriable: true, code: 'timeout' });
  }
}

/** How a connection ended. */
export type Disconnect =
  /** `at-once`: the network asked for it (515). `slowly`: it rejects this client's version (405, 409). */
  | { kind: 'dropped'; reason: string; reconnect?: 'at-once' | 'slowly' }
  | { kind: 'logged-out'; reason: string }
  | { kind: 'banned'; code: string; expiresAt: Date | null }
  /** The network refuses the pairing, or nobody read its codes. */
  | { kind: 'pairing-failed'; reason: string }
  /** Another connection with the same credentials took over (440): never reconnect. */
  | { kind: 'replaced' };

export interface PairedDevice {
  jid: string;
  business_name: string | null;
  platform: string | null;
}

export type ConnectionEvent =
  | { kind: 'qr'; code: string; expiresInMs: number }
  /** To be typed on the phone. */
  | { kind: 'pairing-code'; code: string; expiresInMs: number }
  | { kind: 'paired'; device: PairedDevice }
  | { kind: 'opened'; jid: string; business_name: string | null }
  | { kind: 'closed'; how: Disconnect };

export interface Receipt {
  waMessageId: string;
  status: 'delivered' | 'read';
  at: Date;
  /** A voice message was listened to. */
  played?: boolean;
}

/** What an engine gives to its driver. */
export interface DriverContext {
  instanceId: string;
  pod: string;
  epoch: number;
  log: Logger;
  /** Whether the number is still this engine's, by the clock: once it is not, nothing may reach the network. */
  isLeased: () => boolean;
  session: RemoteSessionStore;
  /** Reads the finished file of a message as it comes. @throws InternalApiRefusal where it is gone */
  readFile: <T>(messageId: string, read: (file: Readable) => Promise<T>) => Promise<T>;
  /** What was built of a message that has left, by this engine or an earlier one; null where it is not kept. */
  readSentMessage: (waMessageId: string) => Promise<Buffer | null>;
  /** The network keeps the number from reaching new contacts until then; null: no longer. */
  storeRestriction: (until: Date | null) => Promise<void>;
  /** Has a received file kept, to its end. @throws what the source throws, InternalApiRefusal, InternalApiUnreachable */
  storeFile: (
    file: Readable,
    named: { mimetype?: string; filename?: string },
  ) => Promise<MediaUploadResponse>;
  /** Resolves once stored: only then may the driver tell the network that it has the receipt. */
  storeReceipt: (receipt: Receipt) => Promise<void>;
  /** Resolves once stored: only then may the driver acknowledge the message or forget its journal of it. */
  storeInbound: (message: InboundMessage) => Promise<void>;
}

/** Credentials and keys of the session; a write is durable when it resolves. */
export interface RemoteSessionStore {
  read(type: string, keys: string[] | null): Promise<SessionEntry[]>;
  write(entries: SessionEntry[]): Promise<void>;
}

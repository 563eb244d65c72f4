import { NACK_REASONS, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { chatOf } from './conversation.js';
import { Turns } from './fair-queue.js';

type Take = (stanza: BinaryNode) => Promise<unknown>;
type Taking = (stanza: BinaryNode, take: () => Promise<unknown>) => Promise<void>;

/** Of the `ws` package, as far as it is used here. */
interface Raw {
  pause: () => void;
  resume: () => void;
}

export interface Intake {
  /** Reads the message before Baileys does; whether that could be done. */
  readAhead: (stanza: BinaryNode) => Promise<boolean>;
  /** Resolves once Baileys is through with the message, which `take` gives to it. */
  taking: Taking;
  /** It is refused, unread. */
  tooLarge: (bytes: number) => void;
}

/** Far more than an app can make of text, thumbnails and cards. */
const MAX_BYTES = 2_000_000;
/** So much may wait to be taken. */
const MAX_WAITING_BYTES = 16_000_000;
/** Beside its content. */
const STANZA_BYTES = 1_000;
/** Something is heard so often even then: a message that is being taken may wait for an answer of the network. */
const PAUSE_MS = 250;

/**
 * Messages are read ahead, and taken, one after the other, those of each chat as they came. Baileys looks up the names of
 * the sender before it queues a message, so that later ones overtake it; and it has a queue apart for what came while the
 * number was away, beside which new ones pass. A message of a group that overtakes the one with its key cannot be read.
 *
 * Chats take turns to be read, so that what one of them sends in plenty keeps no other waiting, and they are taken as
 * they were read. Nothing behind a message that could not be read ahead is read before that one was taken. Where more
 * comes than is taken, the network is read slowly: what waits here is bounded.
 */
export function takeMessagesInOrder(
  { ws, sendMessageAck }: Pick<WASocket, 'ws' | 'sendMessageAck'>,
  { readAhead, taking, tooLarge }: Intake,
): void {
  const name = 'CB:message';
  const takers = ws.listeners(name) as Take[];
  ws.removeAllListeners(name);
  const waiting = new Waiting((ws as unknown as { socket: Raw }).socket);
  // What is not taken before the connection ends comes again with the next one.
  const takeOne = async (stanza: BinaryNode): Promise<unknown> => {
    if (!ws.isOpen) return undefined;
    if (mayBeTaken(stanza))
      return taking(stanza, () => Promise.all(takers.map((take) => take(asNew(stanza)))));
    tooLarge(bytesOf(stanza));
    return sendMessageAck(stanza, NACK_REASONS.UnhandledError);
  };
  const turns = new Turns();
  ws.on(name, (stanza: BinaryNode) => {
    const bytes = bytesOf(stanza);
    const taken = waiting.begin(bytes);
    turns.add(chatOf(stanza.attrs), {
      bytes,
      read: async () => ws.isOpen && mayBeTaken(stanza) && readAhead(stanza),
      take: () => takeOne(stanza).finally(taken),
    });
  });
}

const mayBeTaken = (stanza: BinaryNode): boolean =>
  bytesOf(stanza) <= MAX_BYTES || stanza.attrs['category'] === 'peer';

/** What came and is not taken. */
class Waiting {
  readonly #raw: Raw;
  #bytes = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(raw: Raw) {
    this.#raw = raw;
  }

  /** @returns to be called once it is taken */
  begin(contentBytes: number): () => void {
    const bytes = contentBytes + STANZA_BYTES;
    this.#bytes += bytes;
    if (this.#bytes > MAX_WAITING_BYTES && !this.#pause) {
      this.#raw.pause();
      this.#pause = setTimeout(() => this.#resume(), PAUSE_MS);
    }
    return () => {
      this.#bytes -= bytes;
      if (this.#bytes <= MAX_WAITING_BYTES / 2) this.#resume();
    };
  }

  #resume(): void {
    if (!this.#pause) return;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#raw.resume();
  }
}

function bytesOf({ content }: BinaryNode): number {
  if (!Array.isArray(content)) return content?.length ?? 0;
  return content.reduce((sum, child) => sum + bytesOf(child), 0);
}

/** Without the mark that sends it to the other queue. */
function asNew({ attrs: { offline: _, ...attrs }, ...stanza }: BinaryNode): BinaryNode {
  return { ...stanza, attrs };
}

import { NACK_REASONS, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { getConversationKey } from './conversation.js';
import { FairQueue } from './fair-queue.js';

type BaileysListener = (stanza: BinaryNode) => Promise<unknown>;
type RunBaileys = (stanza: BinaryNode, take: () => Promise<unknown>) => Promise<void>;

/** Of the `ws` package, as far as it is used here. */
interface RawSocket {
  pause: () => void;
  resume: () => void;
}

export interface IntakeStages {
  /** Reads the message before Baileys does; whether that could be done. */
  decryptAhead: (stanza: BinaryNode) => Promise<boolean>;
  /** Resolves once Baileys is through with the message, which `take` gives to it. */
  runBaileys: RunBaileys;
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
export function attachOrderedIntake(
  { ws, sendMessageAck }: Pick<WASocket, 'ws' | 'sendMessageAck'>,
  { decryptAhead, runBaileys, tooLarge }: IntakeStages,
): void {
  const name = 'CB:message';
  const takers = ws.listeners(name) as BaileysListener[];
  ws.removeAllListeners(name);
  const waiting = new Backpressure((ws as unknown as { socket: RawSocket }).socket);
  // What is not taken before the connection ends comes again with the next one.
  const takeOne = async (stanza: BinaryNode): Promise<unknown> => {
    if (!ws.isOpen) return undefined;
    if (isSmallEnough(stanza))
      return runBaileys(stanza, () => Promise.all(takers.map((take) => take(withoutOfflineMark(stanza)))));
    tooLarge(countBytes(stanza));
    return sendMessageAck(stanza, NACK_REASONS.UnhandledError);
  };
  const turns = new FairQueue();
  ws.on(name, (stanza: BinaryNode) => {
    const bytes = countBytes(stanza);
    const taken = waiting.begin(bytes);
    turns.add(getConversationKey(stanza.attrs), {
      bytes,
      decrypt: async () => ws.isOpen && isSmallEnough(stanza) && decryptAhead(stanza),
      process: () => takeOne(stanza).finally(taken),
    });
  });
}

const isSmallEnough = (stanza: BinaryNode): boolean =>
  countBytes(stanza) <= MAX_BYTES || stanza.attrs['category'] === 'peer';

/** What came and is not taken. */
class Backpressure {
  readonly #raw: RawSocket;
  #bytes = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(raw: RawSocket) {
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

function countBytes({ content }: BinaryNode): number {
  if (!Array.isArray(content)) return content?.length ?? 0;
  return content.reduce((sum, child) => sum + countBytes(child), 0);
}

/** Without the mark that sends it to the other queue. */
function withoutOfflineMark({ attrs: { offline: _, ...attrs }, ...stanza }: BinaryNode): BinaryNode {
  return { ...stanza, attrs };
}

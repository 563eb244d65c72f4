import { NACK_REASONS, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { getRawSocket, interceptEvent, type RawSocket } from '../../patches/socket-internals.js';
import { getConversationKey } from './conversation.js';
import { FairQueue } from './fair-queue.js';

type RunBaileys = (stanza: BinaryNode, handle: () => Promise<unknown>) => Promise<void>;

interface IntakeStages {
  /** Decrypts the message before Baileys does, and returns whether it succeeded. */
  decryptAhead: (stanza: BinaryNode) => Promise<boolean>;
  /** Resolves once Baileys has handled the message, which `handle` passes to it. */
  runBaileys: RunBaileys;
  /** A message was refused without decrypting it. */
  tooLarge: (bytes: number) => void;
}

/** Far more than an app can make of text, thumbnails and contact cards. */
const MAX_BYTES = 2_000_000;
/** Maximum size of the messages that wait. */
const MAX_WAITING_BYTES = 16_000_000;
/** Estimated size of a stanza without its content. */
const STANZA_BYTES = 1_000;
/** Longest pause of the socket. A message in progress may itself wait for an answer of the network. */
const PAUSE_MS = 250;

/**
 * Passes messages to Baileys one at a time: in order within a conversation, in turn between conversations. Stock
 * Baileys lets messages overtake each other while it looks up ids and while it handles offline messages. A group
 * message that overtakes its sender key cannot be decrypted. When messages come faster than they are handled, the
 * socket is read slowly.
 */
export function attachOrderedIntake(
  socket: Pick<WASocket, 'ws' | 'sendMessageAck'>,
  { decryptAhead, runBaileys, tooLarge }: IntakeStages,
): void {
  const { ws } = socket;
  const backpressure = new Backpressure(getRawSocket(socket));
  // Messages that are not handled before the connection ends come again with the next one.
  const handleOne = async (stanza: BinaryNode, pass: (stanza: BinaryNode) => unknown[]): Promise<unknown> => {
    if (!ws.isOpen) return undefined;
    if (isSmallEnough(stanza)) return runBaileys(stanza, () => Promise.all(pass(withoutOfflineMark(stanza))));
    tooLarge(countBytes(stanza));
    return socket.sendMessageAck(stanza, NACK_REASONS.UnhandledError);
  };
  const queue = new FairQueue();
  interceptEvent(socket, 'CB:message', (stanza: BinaryNode, pass) => {
    const bytes = countBytes(stanza);
    const handled = backpressure.begin(bytes);
    queue.add(getConversationKey(stanza.attrs), {
      bytes,
      decrypt: async () => ws.isOpen && isSmallEnough(stanza) && decryptAhead(stanza),
      process: () => handleOne(stanza, pass).finally(handled),
    });
  });
}

const isSmallEnough = (stanza: BinaryNode): boolean =>
  countBytes(stanza) <= MAX_BYTES || stanza.attrs['category'] === 'peer';

/** Pauses the socket while too many bytes wait. */
class Backpressure {
  readonly #raw: RawSocket;
  #bytes = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(raw: RawSocket) {
    this.#raw = raw;
  }

  /** @returns a function to call once the message is handled */
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

/** Removes the mark that sends the message to the separate offline queue. */
function withoutOfflineMark({ attrs: { offline: _, ...attrs }, ...stanza }: BinaryNode): BinaryNode {
  return { ...stanza, attrs };
}

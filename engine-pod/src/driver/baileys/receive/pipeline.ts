import type { BinaryNode, SocketConfig, WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/process/log';
import { MAX_REQUESTS, UndecryptableMessages } from './decrypt/undecryptable.js';
import type { Journal } from './journal.js';
import type { MissingMessages } from './missing/missing-messages.js';
import { attachOrderedIntake } from './queue/ordered-intake.js';
import { RetryRequests, type RetryRequestOptions } from './screen/retry-requests.js';

export interface ReceivePipelineOptions extends RetryRequestOptions {
  journal: Journal;
  missing: MissingMessages;
  log: Logger;
  /** Holds back outgoing frames, acknowledgements included, until the promise resolves. */
  holdFrames: (until: Promise<void>) => void;
}

/**
 * The stages of a received message, in the order in which data passes:
 *
 *     socket ─▶ frame ─▶ screen ─▶ queue ─▶ decrypt ─▶ journal ─▶ normalise ─▶ deliver ─▶ internal API
 *                 │                            │                                  ▲
 *                 └────────▶ missing ◀─────────┘       (the phone sends it again) │
 *                               └─────────────────────────────────────────────────┘
 *
 * - frame (this file): records which stanza each ciphertext came in, and which stanzas lack content.
 * - screen/: checks retry requests before Baileys acts on them; stores receipts before Baileys acknowledges them.
 * - queue/: keeps the order within a conversation, alternates between conversations and bounds what waits.
 * - decrypt/: decrypts ahead of Baileys, and limits the requests for messages that cannot be decrypted.
 * - journal.ts: keeps the plaintext, stored in one write with the ratchet step (session/signal-repository.ts).
 * - missing/: asks the phone for content that did not come.
 * - normalise/: parses the envelope, content, edits, votes and clicks; media/ downloads the file.
 * - inbox.ts (deliver): sends each conversation in order to the internal API, then settles the journal entry.
 *
 * One pipeline belongs to one socket. The driver owns the journal and the inbox, which outlive a socket.
 */
export class ReceivePipeline {
  readonly #options: ReceivePipelineOptions;
  readonly #undecryptable: UndecryptableMessages;
  readonly #retryRequests: RetryRequests;

  constructor(options: ReceivePipelineOptions) {
    this.#options = options;
    this.#undecryptable = new UndecryptableMessages({
      missing: (stanza) => this.#holdUntil(options.missing.recordUndecryptable(stanza)),
      tooMany: () => options.log.warn('too many undecryptable messages; not asking for all of them again'),
    });
    this.#retryRequests = new RetryRequests(options);
  }

  /** Options through which Baileys' socket calls this pipeline. */
  get socketConfig() {
    return {
      getMessage: (key) => this.#retryRequests.getMessage(key),
      maxMsgRetryCount: MAX_REQUESTS,
      msgRetryCounterCache: this.#undecryptable.retries,
      placeholderResendCache: this.#undecryptable.resends,
    } satisfies Partial<SocketConfig>;
  }

  /** Puts the stages in front of Baileys' own listeners. */
  attach(socket: WASocket): void {
    const { journal, log } = this.#options;
    this.#retryRequests.screen(socket);
    attachOrderedIntake(socket, this.#undecryptable, { journal, log });
    socket.ws.on('frame', (frame: BinaryNode | Uint8Array) => {
      if (!(frame instanceof Uint8Array)) this.#receiveFrame(frame);
    });
    socket.ws.on('CB:ack,class:receipt', (ack: BinaryNode) => {
      if (ack.attrs['id'] !== undefined) journal.acknowledged(ack.attrs['id']);
    });
  }

  /** Runs before Baileys handles the stanza. */
  #receiveFrame(stanza: BinaryNode): void {
    const { journal, missing } = this.#options;
    journal.recordCiphertexts(stanza);
    this.#holdUntil(missing.record(stanza));
  }

  /** The network must not see an acknowledgement before the missing content is recorded. */
  #holdUntil(recorded: Promise<void> | null): void {
    if (recorded) this.#options.holdFrames(recorded);
  }
}

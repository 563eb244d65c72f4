import type { ServerResponse } from 'node:http';
import { countStreamed, freeBuffer, type BufferPool } from '../platform/buffers.js';
import { waitForTurn } from '../platform/turns.js';
import type { MediaFiles, MediaRow } from './files.js';
import { CHUNK } from './store/sealed-file.js';
import { MAX_CREDIT_MS } from './transfers/pace.js';
import type { Subjects, Transfer, Transfers } from './transfers/transfers.js';

/** A client that does not read occupies one slice of memory. */
const SLICE_BYTES = 16_384;
/**
 * Share of the read bytes that counts as garbage. Their buffers are freed at once, so only small objects are left. A collection
 * for every 4 MB read would find the requests to a bucket under way, and keep their garbage as old objects (+30 MB, measured).
 */
const GARBAGE_SHARE = 1 / 4;
/** All downloads begin soon, because few bytes are read for each. */
const FIRST_WINDOW_BYTES = 2 * CHUNK;
/** A window is given up after this time without progress, or while other downloads wait for a buffer. */
const TURN_MS = 25;

interface FileToSend {
  files: Pick<MediaFiles, 'open'>;
  row: MediaRow;
  /** Both ends included. */
  range: { start: number; end: number };
  response: ServerResponse;
}

/**
 * Sends a file as a counted transfer, and ends the response. If the file or the connection breaks after `begin`, the client
 * sees it by the announced length.
 * @param begin writes the headers, once the first bytes are read
 * @throws TransferLimited before `begin`; FileMissing and errors of the store, after `begin` on a closed connection
 */
export async function sendFile(
  file: FileToSend,
  { transfers, subjects }: { transfers: Transfers; subjects: Subjects },
  begin: () => void,
): Promise<void> {
  const { socket } = file.response.req;
  const transfer = transfers.open(subjects, () => socket.destroy());
  // The kernel takes no bytes of a slow client for longer than the listener's idle timeout, which Node sets again at the next
  // request.
  socket.setTimeout(MAX_CREDIT_MS);
  try {
    const owner = subjects.account ?? subjects.instance ?? '';
    await new Sender(file, transfer, begin).send(transfers.windows, owner);
  } finally {
    transfer.close();
  }
}

/**
 * Reads a window of the file, closes the file, and sends the window. A window is given up when the client does not read it. So
 * clients decide neither how much memory downloads occupy, nor how many connections to a bucket: the API keeps none open
 * while it waits for a client.
 */
class Sender {
  #at: number;
  /** Bytes of the next window. It grows while the client reads; after a stall, as many as the client took. */
  #next = FIRST_WINDOW_BYTES;
  #hasBegun = false;
  readonly #slice = Buffer.allocUnsafeSlow(SLICE_BYTES);
  /** A slice that the kernel has not taken yet. */
  #isWriting = false;
  #wake: () => void = () => undefined;

  constructor(
    private readonly file: FileToSend,
    private readonly transfer: Transfer,
    private readonly begin: () => void,
  ) {
    this.#at = file.range.start;
    transfer.waitsForClient = false;
  }

  async send(windows: BufferPool, owner: string): Promise<void> {
    const { response, range } = this.file;
    const { socket } = response.req;
    const wake = (): void => this.#wake();
    // A response behind others on its connection has no `close` event.
    socket.on('close', wake);
    try {
      while (this.#at <= range.end && !this.#isOver) {
        const send = async (buffer: Buffer): Promise<void> => {
          if (this.#isOver) return;
          const window = await this.#read(buffer);
          if (!this.#isOver) await this.#sendWindow(window, () => windows.isAwaited);
        };
        await windows.use(owner, send, !this.#hasBegun);
        while (this.#isWriting && !socket.destroyed) await this.#wait();
      }
      if (this.#isOver) return;
      this.#beginOnce();
      response.end();
    } catch (error) {
      if (this.#hasBegun) socket.destroy();
      throw error;
    } finally {
      socket.off('close', wake);
    }
  }

  /** The connection is closed, or the request was answered because it waited for too long. */
  get #isOver(): boolean {
    const { response } = this.file;
    return response.req.socket.destroyed || response.headersSent !== this.#hasBegun;
  }

  async #read(buffer: Buffer): Promise<Buffer> {
    const { files, row, range } = this.file;
    const end = Math.min(range.end, this.#at + Math.min(this.#next, buffer.length) - 1);
    let size = 0;
    for await (const chunk of await files.open(row, this.#at, end)) {
      size += chunk.copy(buffer, size);
      countStreamed(chunk.length * GARBAGE_SHARE);
      freeBuffer(chunk);
      await waitForTurn();
    }
    return buffer.subarray(0, size);
  }

  async #sendWindow(window: Buffer, othersWait: () => boolean): Promise<void> {
    const { socket } = this.file.response.req;
    this.#beginOnce();
    const turn = { isOver: false, from: this.#at };
    const timer = setInterval(() => {
      if (!othersWait() && this.#at > turn.from) {
        turn.from = this.#at;
        return;
      }
      turn.isOver = true;
      this.#wake();
    }, TURN_MS);
    let sent = 0;
    try {
      while (sent < window.length && !turn.isOver && !socket.destroyed) {
        this.#write(window.subarray(sent, sent + SLICE_BYTES));
        sent += SLICE_BYTES;
        while (this.#isWriting && !turn.isOver && !socket.destroyed) await this.#wait();
        await waitForTurn();
      }
    } finally {
      clearInterval(timer);
    }
    this.#next = turn.isOver ? Math.max(CHUNK, sent) : window.length * 2;
  }

  #beginOnce(): void {
    if (this.#hasBegun) return;
    this.begin();
    this.#hasBegun = true;
  }

  /** Copies, because a slice would keep its whole chunk in memory. The socket has taken the former slice. */
  #write(bytes: Buffer): void {
    bytes.copy(this.#slice);
    const slice = this.#slice.subarray(0, bytes.length);
    this.#at += slice.length;
    this.#isWriting = this.transfer.waitsForClient = true;
    this.file.response.write(slice, (error) => {
      this.#isWriting = this.transfer.waitsForClient = false;
      if (!error) this.transfer.progress(slice.length);
      this.#wake();
    });
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}

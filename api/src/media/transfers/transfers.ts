import type { Cancel, Clock } from '@gwk/core/clock';
import { Problem } from '@gwk/core/problems/problems';
import { BufferPool } from '../../platform/buffers.js';
import { addProgress, FIRST_CREDIT_MS, LOOK_EVERY_MS, subtractTime } from './pace.js';

export const RETRY_SECONDS = 5;
/** Downloads that read and send a window of their file at once, and the size of a window (send-file.ts). */
const MAX_WINDOWS = 16;
const WINDOW_BYTES = 512 * 1024;
/** Windows that stay allocated. Downloads that stand need none. */
const KEPT_WINDOWS = 2;

/** The owner of a bound. */
export type Subject = 'file' | 'address' | 'instance' | 'account' | 'process';

export type Subjects = Partial<Record<Subject, string>>;

export interface Bound {
  transfers: number;
  /** Bytes of unfinished transfers. */
  bytes?: number;
}

/** The bounds of one kind of transfers, narrowest subject first: the first full one is reported. */
export type Bounds = Readonly<Partial<Record<Subject, Bound>>>;

/** A transfer is not begun, or not continued, because a bound is reached. */
export class TransferLimited extends Problem {
  constructor(readonly subject: Subject) {
    super(subject === 'process' ? 'server-busy' : 'too-many-transfers', { retryAfter: RETRY_SECONDS });
  }
}

interface Use {
  transfers: number;
  bytes: number;
}

/** The transfers of one kind in this process: bounds their number and their bytes, and ends slow ones. */
export class Transfers {
  readonly #uses = new Map<string, Use>();
  readonly #watched = new Set<Transfer>();
  readonly windows = new BufferPool(MAX_WINDOWS, WINDOW_BYTES, KEPT_WINDOWS);
  #stopLooking: Cancel | null = null;
  #lookedAt = 0;

  constructor(
    readonly bounds: Bounds,
    private readonly clock: Clock,
    /** Called for each transfer that a bound or the minimum rate stops. */
    private readonly limited: (limit: Subject | 'rate') => void,
  ) {}

  /** Transfers under way. */
  get size(): number {
    return this.#uses.get('process:')?.transfers ?? 0;
  }

  /**
   * Refuses what `open` would refuse for these subjects, to spare the work before it.
   * @throws TransferLimited
   */
  check(subjects: Subjects): void {
    const full = this.#listUses(subjects).find(({ use, bound, subject }) => {
      return (subject === 'process' || subject in subjects) && use.transfers >= bound.transfers;
    });
    if (full) throw this.#refuse(full.subject);
  }

  /**
   * Counts a transfer until it is closed.
   * @param onSlow called once if the transfer is below the minimum rate and must end
   * @throws TransferLimited
   */
  open(subjects: Subjects, onSlow: () => void): Transfer {
    const uses = this.#listUses(subjects);
    const full = uses.find(({ use, bound }) => use.transfers >= bound.transfers);
    if (full) throw this.#refuse(full.subject);
    for (const { key, use } of uses) {
      use.transfers++;
      this.#uses.set(key, use);
    }
    const transfer = new Transfer(onSlow, {
      take: (bytes) => {
        const over = uses.find(({ use, bound }) => use.bytes + bytes > (bound.bytes ?? Infinity));
        if (over) throw this.#refuse(over.subject);
        for (const { use } of uses) use.bytes += bytes;
      },
      close: (bytes) => {
        for (const { key, use } of uses) {
          use.bytes -= bytes;
          if (--use.transfers === 0) this.#uses.delete(key);
        }
        this.#unwatch(transfer);
      },
    });
    this.#watch(transfer);
    return transfer;
  }

  #listUses(subjects: Subjects): { subject: Subject; key: string; bound: Bound; use: Use }[] {
    return (Object.entries(this.bounds) as [Subject, Bound][]).map(([subject, bound]) => {
      const key = `${subject}:${subjects[subject] ?? ''}`;
      return { subject, key, bound, use: this.#uses.get(key) ?? { transfers: 0, bytes: 0 } };
    });
  }

  #refuse(subject: Subject): TransferLimited {
    this.limited(subject);
    return new TransferLimited(subject);
  }

  #watch(transfer: Transfer): void {
    this.#watched.add(transfer);
    if (this.#stopLooking) return;
    this.#lookedAt = this.clock.now();
    this.#stopLooking = this.clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  #unwatch(transfer: Transfer): void {
    this.#watched.delete(transfer);
    if (this.#watched.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = null;
  }

  #look(): void {
    const now = this.clock.now();
    const elapsedMs = now - this.#lookedAt;
    this.#lookedAt = now;
    for (const transfer of this.#watched) {
      if (transfer.passes(elapsedMs)) continue;
      this.#unwatch(transfer);
      this.limited('rate');
      transfer.onSlow();
    }
  }
}

interface Counters {
  take(bytes: number): void;
  close(bytes: number): void;
}

export class Transfer {
  /** Whether the client delays the transfer. The time of the store and of other transfers does not count. */
  waitsForClient = true;
  #creditMs = FIRST_CREDIT_MS;
  #bytes = 0;
  #closed = false;

  constructor(
    readonly onSlow: () => void,
    private readonly counters: Counters,
  ) {}

  /** @throws TransferLimited */
  progress(bytes: number): void {
    if (this.#closed) return;
    this.counters.take(bytes);
    this.#bytes += bytes;
    this.#creditMs = addProgress(this.#creditMs, bytes);
  }

  /** Whether the transfer is fast enough after `elapsedMs` more. */
  passes(elapsedMs: number): boolean {
    if (this.waitsForClient) this.#creditMs = subtractTime(this.#creditMs, elapsedMs);
    return this.#creditMs >= 0;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.counters.close(this.#bytes);
  }
}

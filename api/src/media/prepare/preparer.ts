import type { OutboundContent } from '@gwk/core/resources/message';
import type { Logger } from '@gwk/core/log';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../../database/database.js';
import type { SendNotifier } from '../../messages/send-notifier.js';
import { extractMedia } from '../../messages/preparation.js';
import { failMessages } from '../../messages/apply-status.js';
import { openContent, sealContent } from '../../messages/content.js';
import type { JobResult } from '../../platform/job.js';
import { finishMedia, type FinishDeps } from './finish.js';
import { previewOf } from './preview.js';
import { takeUnprepared, type Taken } from './take.js';
import { Unavailable } from './unavailable.js';

/**
 * Prepares messages before they can be claimed (design: Media first): fetches, converts, previews. A message keeps its
 * place meanwhile; one that cannot be prepared fails with `media_unavailable` and lets the next go.
 *
 * A taken message is due again after the longest time that its work can take, so what a worker that died had taken is
 * taken up by another. The take is counted before the work: a file that ends worker after worker ends itself.
 */
export interface PreparerDeps extends FinishDeps {
  db: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  log: Logger;
  onResult?: (result: PreparationResult) => void;
  options: { concurrency: number; decodeMs: number };
}

/** `retried`: put off, not given up. */
export type PreparationResult = 'prepared' | 'retried' | 'unavailable';

const MARGIN_MS = 60_000;
/** What may pass (a server that is busy) is waited for so often, and so long. */
const PASSING_RETRIES_MS = [2_000, 10_000];
/** What is not the file's fault (no store, no ffmpeg) is tried for some 15 minutes, as a number that is out is waited for. */
const MAX_ATTEMPTS = 12;
const FAULT_RETRY_MS = 5_000;
const MAX_FAULT_RETRY_MS = 120_000;
/** One account may have this part of the places, so that one with slow servers leaves room. */
const SHARE = 2;

export class Preparer {
  readonly #deps: PreparerDeps;
  readonly #holdMs: number;
  readonly #working = new Set<Promise<void>>();
  /** Messages at work, by account. */
  readonly #busy = new Map<string, number>();
  readonly #ended = new AbortController();

  constructor(deps: PreparerDeps) {
    this.#deps = deps;
    this.#holdMs = deps.fetchMs + 2 * deps.options.decodeMs + MARGIN_MS;
  }

  /** Takes what there is room for, and does not wait for it. */
  async pass(): Promise<JobResult> {
    const { db, options } = this.#deps;
    const room = options.concurrency - this.#working.size;
    if (room <= 0) return { amount: 0, more: false };
    const perAccount = Math.ceil(options.concurrency / SHARE);
    const rows = await takeUnprepared(db, {
      most: room,
      perAccount,
      holdMs: this.#holdMs,
      busy: this.#busy,
    });
    for (const row of rows) this.#start(row);
    return { amount: rows.length, more: false };
  }

  /** What is under way is broken off, and due again at once. */
  async stop(): Promise<void> {
    this.#ended.abort(new Error('the worker stops'));
    await Promise.all(this.#working);
  }

  #start(row: Taken): void {
    this.#count(row.account_id, 1);
    const work = this.#prepare(row)
      .catch((error: unknown) => this.#failed(row, error))
      .catch((error: unknown) => {
        this.#deps.log.error({ err: error, message: row.message_id }, 'a preparation was left to its time');
      })
      .finally(() => {
        this.#working.delete(work);
        this.#count(row.account_id, -1);
      });
    this.#working.add(work);
  }

  #count(accountId: string, more: 1 | -1): void {
    const amount = (this.#busy.get(accountId) ?? 0) + more;
    if (amount > 0) this.#busy.set(accountId, amount);
    else this.#busy.delete(accountId);
  }

  async #prepare(row: Taken): Promise<void> {
    const { db, sealer, sendNotifier } = this.#deps;
    if (row.attempts > MAX_ATTEMPTS) throw new Unavailable('the file could not be prepared');
    if (row.content_sealed === null) throw new Unavailable('the content is gone');
    const content = JSON.parse(openContent(sealer, row.instance_id, row.content_sealed)) as OutboundContent;
    const ready = await this.#finish(content, row);
    const sealed = sealContent(sealer, row.instance_id, JSON.stringify(ready));
    const [done] = await db.$queryRaw<{ head: boolean | null }[]>`
      SELECT gwk_finish_preparation(${row.message_id}::uuid, ${sealed}::bytea) AS head`;
    this.#deps.onResult?.('prepared');
    if (done?.head) {
      await sendNotifier.notify([{ instanceId: row.instance_id, messageId: row.message_id }]);
    }
  }

  async #finish(content: OutboundContent, row: Taken): Promise<OutboundContent> {
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(this.#holdMs - MARGIN_MS / 2)]);
    if (extractMedia(content)) {
      const owner = { messageId: row.message_id, accountId: row.account_id };
      return { ...content, finished: await finishMedia(content, owner, this.#deps, signal) };
    }
    if (content.text?.preview_url !== true) return content;
    const preview = await previewOf(content.text.body, this.#deps, signal);
    return preview === null ? content : { ...content, preview };
  }

  async #failed(row: Taken, error: unknown): Promise<void> {
    const { db, log } = this.#deps;
    const { message_id: message, attempts } = row;
    const unavailable = error instanceof Unavailable;
    const delay = this.#ended.signal.aborted ? 0 : delayAfter(error, attempts);
    if (delay === null) {
      const text = unavailable ? error.message : 'the file could not be prepared';
      this.#deps.onResult?.('unavailable');
      log.info({ message, reason: text }, 'a message could not be prepared');
      await failMessages({ ...this.#deps, database: db }, [message], {
        code: 'media_unavailable',
        message: text,
      });
      return;
    }
    this.#deps.onResult?.('retried');
    if (!unavailable && delay > 0)
      log.warn({ err: error, message, attempts }, 'a preparation is tried again');
    await db.$executeRaw`
      UPDATE outbox SET prepare_at = now() + ${delay}::integer * interval '1 millisecond'
      WHERE message_id = ${message}::uuid AND NOT prepared`;
  }
}

/** How long to wait before the next attempt (milliseconds); null: there is none. */
export function delayAfter(error: unknown, attempts: number): number | null {
  if (!(error instanceof Unavailable)) {
    const longer = Math.min(MAX_FAULT_RETRY_MS, FAULT_RETRY_MS * 2 ** (attempts - 1));
    return attempts < MAX_ATTEMPTS ? longer : null;
  }
  return error.passing ? (PASSING_RETRIES_MS[attempts - 1] ?? null) : null;
}

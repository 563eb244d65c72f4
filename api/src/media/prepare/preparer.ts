import type { OutboundContent } from '@gwk/core/resources/message';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/log';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../../database/database.js';
import type { SendNotifier } from '../../messages/send-notifier.js';
import { extractMedia } from '../../messages/preparation.js';
import { failMessages } from '../../messages/apply-status.js';
import { openContent, sealContent } from '../../messages/content.js';
import type { JobResult } from '../../platform/job.js';
import { finishMedia, type FinishDeps } from './finish.js';
import { buildPreview } from './preview.js';
import { MediaUnavailable } from './rules.js';

export interface PreparerDeps extends FinishDeps {
  db: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  log: Logger;
  onResult?: (result: PreparationResult) => void;
  options: { concurrency: number; decodeMs: number };
}

interface ClaimedPreparation {
  message_id: string;
  instance_id: string;
  account_id: string;
  type: string;
  attempts: number;
  content_sealed: Uint8Array | null;
}

export type PreparationResult = 'prepared' | 'retried' | 'unavailable';

const MARGIN_MS = 60_000;
/** Retry delays after a temporary failure, for example a busy server. */
const TEMPORARY_RETRIES_MS = [2_000, 10_000];
/** Faults that are not the file's (no store, no ffmpeg) are retried for about 15 minutes. */
const MAX_ATTEMPTS = 12;
const FAULT_RETRY = { firstMs: 5_000, maxMs: 120_000, jitter: 0 };
/** One account may use 1/2 of the slots, so that its slow servers do not block other accounts. */
const ACCOUNT_SHARE = 2;

/**
 * Prepares messages before they can be claimed: fetches and converts files, and makes previews. A message keeps its place
 * meanwhile. If it cannot be prepared, it fails with `media_unavailable` and the next one can go.
 *
 * A claim lasts for the longest time that the work can take; another worker then claims the message of a dead worker. The
 * claim counts as an attempt, so a file that crashes workers runs out of attempts.
 */
export class Preparer {
  readonly #deps: PreparerDeps;
  readonly #claimMs: number;
  readonly #working = new Set<{ accountId: string; work: Promise<void> }>();
  readonly #ended = new AbortController();

  constructor(deps: PreparerDeps) {
    this.#deps = deps;
    this.#claimMs = deps.fetchMs + 2 * deps.options.decodeMs + MARGIN_MS;
  }

  /** Claims messages up to the free slots and starts their preparation without waiting for it. */
  async pass(): Promise<JobResult> {
    const { db, options } = this.#deps;
    const free = options.concurrency - this.#working.size;
    if (free <= 0) return { amount: 0, more: false };
    const perAccount = Math.ceil(options.concurrency / ACCOUNT_SHARE);
    const busy = [...Map.groupBy(this.#working, ({ accountId }) => accountId)];
    const rows = await db.$queryRaw<ClaimedPreparation[]>`
      SELECT * FROM gwk_claim_preparations(${free}::integer, ${perAccount}::integer, ${this.#claimMs}::integer,
        ${busy.map(([id]) => id)}::uuid[], ${busy.map(([, working]) => working.length)}::integer[])`;
    for (const row of rows) this.#start(row);
    return { amount: rows.length, more: false };
  }

  /** Aborts running preparations, which are then due at once. */
  async stop(): Promise<void> {
    this.#ended.abort(new Error('the worker stops'));
    await Promise.all([...this.#working].map(({ work }) => work));
  }

  #start(row: ClaimedPreparation): void {
    const work = this.#prepare(row)
      .catch((error: unknown) => this.#failed(row, error))
      .catch((error: unknown) => {
        this.#deps.log.error(
          { err: error, message: row.message_id },
          'media preparation interrupted; it is due again when its claim expires',
        );
      })
      .finally(() => this.#working.delete(entry));
    const entry = { accountId: row.account_id, work };
    this.#working.add(entry);
  }

  async #prepare(row: ClaimedPreparation): Promise<void> {
    const { db, sealer, sendNotifier } = this.#deps;
    if (row.attempts > MAX_ATTEMPTS) throw new MediaUnavailable('the file could not be prepared');
    if (row.content_sealed === null) throw new MediaUnavailable('the content was deleted');
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

  async #finish(content: OutboundContent, row: ClaimedPreparation): Promise<OutboundContent> {
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(this.#claimMs - MARGIN_MS / 2)]);
    if (extractMedia(content)) {
      const owner = { messageId: row.message_id, accountId: row.account_id };
      return { ...content, finished: await finishMedia(content, owner, this.#deps, signal) };
    }
    if (content.text?.preview_url !== true) return content;
    const preview = await buildPreview(content.text.body, this.#deps, signal);
    return preview === null ? content : { ...content, preview };
  }

  async #failed(row: ClaimedPreparation, error: unknown): Promise<void> {
    const { db, log } = this.#deps;
    const { message_id: message, attempts } = row;
    const unavailable = error instanceof MediaUnavailable;
    const delay = this.#ended.signal.aborted ? 0 : retryDelay(error, attempts);
    if (delay === null) {
      const text = unavailable ? error.message : 'the file could not be prepared';
      this.#deps.onResult?.('unavailable');
      log.info({ message, reason: text }, 'media preparation failed');
      await failMessages({ ...this.#deps, database: db }, [message], {
        code: 'media_unavailable',
        message: text,
      });
      return;
    }
    this.#deps.onResult?.('retried');
    if (!unavailable && delay > 0)
      log.warn({ err: error, message, attempts }, 'media preparation failed; retrying');
    await db.$executeRaw`
      UPDATE outbox SET prepare_at = now() + ${delay}::integer * interval '1 millisecond'
      WHERE message_id = ${message}::uuid AND NOT prepared`;
  }
}

/** Delay before the next attempt in milliseconds. Null: no further attempt. */
export function retryDelay(error: unknown, attempts: number): number | null {
  if (!(error instanceof MediaUnavailable)) {
    return attempts < MAX_ATTEMPTS ? backoffDelay(FAULT_RETRY, attempts) : null;
  }
  return error.temporary ? (TEMPORARY_RETRIES_MS[attempts - 1] ?? null) : null;
}

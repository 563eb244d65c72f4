import type { OutboundContent } from '@gwk/core/resources/message';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/process/log';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../../database/database.js';
import type { SendNotifier } from '../../messages/send-notifier.js';
import { extractMedia } from '../../messages/preparation.js';
import { findFirstLink } from '../../messages/first-link.js';
import { failMessages } from '../../message-status/apply-status.js';
import { openContent, sealContent } from '../../messages/content.js';
import { processClock, type Clock } from '@gwk/core/clock';
import { Prisma } from '../../generated/prisma/client.js';
import type { JobResult } from '../../platform/job.js';
import { finishMedia, longestFetchMs, type FinishDeps } from './finish.js';
import { buildPreview } from './preview.js';
import { MediaUnavailable } from './rules.js';

export interface PreparerDeps extends FinishDeps {
  db: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  log: Logger;
  /** Is called after the result is stored. */
  onResult?: (result: PreparationResult) => void;
  options: { concurrency: number };
  clock?: Clock;
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

/** Claims are renewed every 20 s, so the messages of a stopped worker are due again within a minute. */
const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;
/** Longest time of one attempt, waiting for a decoder included. A large document has more. */
const ATTEMPT_MS = 900_000;
/** Retry delays after a temporary failure, for example a busy server. */
const TEMPORARY_RETRIES_MS = [2_000, 10_000];
/** Faults that are not the file's (no store, no ffmpeg) are retried for about 15 minutes. */
const MAX_ATTEMPTS = 12;
const FAULT_RETRY = { firstMs: 5_000, maxMs: 120_000, jitter: 0 };
/** Messages of an account that may fetch from one host at once. A slow host then delays no message that needs another. */
const PER_HOST = 2;
const HOST_DIGEST_BYTES = 8;

interface RunningPreparation {
  messageId: string;
  accountId: string;
  host: string | null;
  /** False: its result is being written. */
  renews: boolean;
  work: Promise<void>;
}

/**
 * Prepares messages before they can be claimed: fetches and converts files, and makes previews. A message keeps its place
 * meanwhile. If it cannot be prepared, it fails with `media_unavailable` and the next one can go.
 *
 * Another worker claims the message of a dead worker. A claim counts as an attempt, so a file that crashes workers runs out
 * of attempts.
 */
export class Preparer {
  readonly #deps: PreparerDeps;
  readonly #clock: Clock;
  readonly #working = new Set<RunningPreparation>();
  readonly #ended = new AbortController();
  #renewedAt: number;
  #renewal: Promise<unknown> = Promise.resolve();

  constructor(deps: PreparerDeps) {
    this.#deps = deps;
    this.#clock = deps.clock ?? processClock;
    this.#renewedAt = this.#clock.now();
  }

  /** Claims messages up to the free slots and starts their preparation without waiting for it. */
  async pass(): Promise<JobResult> {
    await this.#renewClaims();
    const { db, options } = this.#deps;
    const free = options.concurrency - this.#working.size;
    if (free <= 0) return { amount: 0, more: false };
    const busy = { accounts: this.#countBy('accountId'), hosts: this.#countBy('host') };
    const rows = await db.queryRows<ClaimedPreparation>(Prisma.sql`
      SELECT * FROM gwk_claim_preparations(${free}::integer, ${PER_HOST}::integer, ${CLAIM_MS}::integer,
        ${JSON.stringify(busy)}::jsonb)`);
    const returned: { id: string; host: string }[] = [];
    for (const row of rows) {
      const host = this.#findHost(row);
      const running = [...this.#working].filter((entry) => entry.host === host).length;
      if (host === null || running < PER_HOST) this.#start(row, host);
      else returned.push({ id: row.message_id, host });
    }
    await this.#return(returned);
    return { amount: rows.length - returned.length, more: returned.length > 0 };
  }

  #countBy(key: 'accountId' | 'host'): Record<string, number> {
    const groups = Map.groupBy(this.#working, (entry) => entry[key] ?? '');
    return Object.fromEntries([...groups].map(([value, entries]) => [value, entries.length]));
  }

  async #renewClaims(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = now;
    const ids = [...this.#working].filter(({ renews }) => renews).map(({ messageId }) => messageId);
    if (ids.length === 0) return;
    const renewal = this.#deps.db.$executeRaw`
      UPDATE outbox SET prepare_at = now() + ${CLAIM_MS}::integer * interval '1 millisecond'
      WHERE message_id = ANY (${ids}::uuid[]) AND NOT prepared`;
    this.#renewal = renewal.catch(() => undefined);
    await renewal;
  }

  /** Keyed digest of the account and the host that the message needs. Null: it needs none, or its content is unreadable. */
  #findHost(row: ClaimedPreparation): string | null {
    try {
      const host = findHost(this.#open(row));
      if (host === null) return null;
      const digest = this.#deps.sealer.fingerprint(row.account_id, 'outbox.prepare_host', host);
      return digest.toString('hex', 0, HOST_DIGEST_BYTES);
    } catch {
      return null;
    }
  }

  /** Makes messages of busy hosts due again. Their host is stored, so they are claimed when it has a free place. */
  async #return(messages: readonly { id: string; host: string }[]): Promise<void> {
    if (messages.length === 0) return;
    await this.#deps.db.$executeRaw`
      UPDATE outbox o
      SET prepare_host = r.host, prepare_at = NULL, prepare_attempts = o.prepare_attempts - 1
      FROM unnest(${messages.map(({ id }) => id)}::uuid[], ${messages.map(({ host }) => host)}::text[]) AS r(id, host)
      WHERE o.message_id = r.id AND NOT o.prepared`;
  }

  /** Aborts running preparations, which are then due at once. */
  async stop(): Promise<void> {
    this.#ended.abort(new Error('the worker stops'));
    await Promise.all([...this.#working].map(({ work }) => work));
  }

  #start(row: ClaimedPreparation, host: string | null): void {
    const entry: RunningPreparation = {
      messageId: row.message_id,
      accountId: row.account_id,
      host,
      renews: true,
      work: Promise.resolve(),
    };
    this.#working.add(entry);
    entry.work = this.#prepare(row)
      .catch(async (error: unknown) => {
        entry.renews = false;
        await this.#renewal;
        await this.#failed(row, error);
      })
      .catch((error: unknown) => {
        this.#deps.log.error(
          { err: error, message: row.message_id },
          'media preparation interrupted; it is due again when its claim expires',
        );
      })
      .finally(() => this.#working.delete(entry));
  }

  async #prepare(row: ClaimedPreparation): Promise<void> {
    const { db, sealer, sendNotifier } = this.#deps;
    if (row.attempts > MAX_ATTEMPTS) throw new MediaUnavailable('the file could not be prepared');
    const ready = await this.#finish(this.#open(row), row);
    const sealed = sealContent(sealer, row.instance_id, JSON.stringify(ready));
    const [done] = await db.$queryRaw<{ head: boolean | null }[]>`
      SELECT gwk_finish_preparation(${row.message_id}::uuid, ${sealed}::bytea) AS head`;
    this.#deps.onResult?.('prepared');
    if (done?.head) {
      await sendNotifier.notify([{ instanceId: row.instance_id, messageId: row.message_id }]);
    }
  }

  #open(row: ClaimedPreparation): OutboundContent {
    if (row.content_sealed === null) throw new MediaUnavailable('the content was deleted');
    return JSON.parse(openContent(this.#deps.sealer, row.instance_id, row.content_sealed)) as OutboundContent;
  }

  async #finish(content: OutboundContent, row: ClaimedPreparation): Promise<OutboundContent> {
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(this.#attemptMs)]);
    if (extractMedia(content)) {
      const owner = { messageId: row.message_id, accountId: row.account_id };
      return { ...content, finished: await finishMedia(content, owner, this.#deps, signal) };
    }
    if (content.text?.preview_url !== true) return content;
    const owner = { message: row.message_id, accountId: row.account_id };
    const preview = await buildPreview(content.text.body, { ...this.#deps, ...owner }, signal);
    return preview === null ? content : { ...content, preview };
  }

  get #attemptMs(): number {
    const { fetchMs, files } = this.#deps;
    return ATTEMPT_MS + longestFetchMs(fetchMs, files.maxBytes);
  }

  async #failed(row: ClaimedPreparation, error: unknown): Promise<void> {
    const { db, log, sendNotifier } = this.#deps;
    const { message_id: message, attempts } = row;
    const unavailable = error instanceof MediaUnavailable;
    const delay = this.#ended.signal.aborted ? 0 : retryDelay(error, attempts);
    if (delay === null) {
      const text = unavailable ? error.message : 'the file could not be prepared';
      log.info({ message, reason: text }, 'media preparation failed');
      await failMessages({ ...this.#deps, database: db }, [message], {
        code: 'media_unavailable',
        message: text,
      });
      this.#deps.onResult?.('unavailable');
      // The next message of the conversation may be ready to leave.
      await sendNotifier.notify([{ instanceId: row.instance_id, messageId: message }]);
      return;
    }
    if (!unavailable && delay > 0)
      log.warn({ err: error, message, attempts }, 'media preparation failed; retrying');
    await db.$executeRaw`
      UPDATE outbox SET prepare_at = now() + ${delay}::integer * interval '1 millisecond'
      WHERE message_id = ${message}::uuid AND NOT prepared`;
    this.#deps.onResult?.('retried');
  }
}

/** Host of the file or of the link to preview, in lower case. Null for an uploaded file. */
function findHost(content: OutboundContent): string | null {
  const media = extractMedia(content);
  if (!media) return findFirstLink(content.text?.body ?? '')?.url.hostname ?? null;
  return media.url ? (URL.parse(media.url)?.hostname ?? null) : null;
}

/** Delay before the next attempt in milliseconds. Null: no further attempt. */
export function retryDelay(error: unknown, attempts: number): number | null {
  if (!(error instanceof MediaUnavailable)) {
    return attempts < MAX_ATTEMPTS ? backoffDelay(FAULT_RETRY, attempts) : null;
  }
  return error.temporary ? (TEMPORARY_RETRIES_MS[attempts - 1] ?? null) : null;
}

import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import { longestTransferMs, MEDIA_DAYS } from '@gwk/core/resources/media';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { limitsFor, StorageFull, type AccountLimits, type FileOrigin } from '../accounts/usage.js';
import type { Queryable } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import type { Media } from '../generated/prisma/client.js';
import { countStreamed, freeBuffer } from '../platform/buffers.js';
import { HEAD_BYTES, sniff, type TypeHints } from './sniff.js';
import { FileMissing, type MediaStore } from './store/store.js';
import { newFileKey, seal, sealedRange, unseal } from './store/sealed-file.js';

/** A file in the store without a row. */
export type ReceivedFile = Awaited<ReturnType<MediaFiles['receive']>>;

interface NewMedia {
  id: string;
  accountId: string;
  /** A restricted key sees the file if all of these are its instances; empty: only unrestricted keys see it. */
  instanceIds?: readonly string[];
  /** Message that the file was made for. */
  messageId?: string | null;
  origin: FileOrigin;
  filename: string | null;
}

export type MediaRow = Omit<Media, 'filenameSealed' | 'createdAt' | 'sha256'> & {
  filename: string | null;
  sha256: Buffer;
};

export class FileTooLarge extends Error {
  override name = 'FileTooLarge';
}

/** A file that is not kept after this multiple of its longest transfer is removed. */
const UNCLAIMED_TRANSFERS = 4;
const DAY_MS = 86_400_000;
const KEY_COLUMN = 'media.key_sealed';
const FILENAME_COLUMN = 'media.filename_sealed';

/**
 * Stores files and their rows. Before the first byte, the store key is recorded for removal (`store_removals`); the row of
 * the file takes the key from there. A crash in between therefore leaves no unreferenced file. Files are encrypted as they
 * are written.
 */
export class MediaFiles {
  constructor(
    private readonly deps: {
      db: Queryable;
      sealer: Sealer;
      store: MediaStore;
      limits: AccountLimits;
      /** Size of the largest file. */
      maxBytes: number;
    },
  ) {}

  get maxBytes(): number {
    return this.deps.maxBytes;
  }

  /** For a refusal before a file is received. @throws StorageFull */
  async checkSpace(accountId: string, origin: FileOrigin): Promise<void> {
    const [bytes, files, factor] = limitsFor(this.deps.limits, origin);
    const [row] = await this.deps.db.$queryRaw<{ fits: boolean }[]>`
      SELECT gwk_storage_fits(${accountId}::uuid, 1, ${bytes}::bigint, ${files}::bigint, ${factor}::integer) AS fits`;
    if (!row!.fits) throw new StorageFull();
  }

  /**
   * Writes the source to the store, and frees its buffers.
   * @param owner shares the buffers of the store with other owners
   * @param progress called with the size of each chunk; it may throw
   * @throws FileTooLarge and the errors of the source, the store and `progress`
   */
  async receive(
    source: Readable,
    maxBytes: number,
    hints: TypeHints,
    { owner, progress = () => undefined }: { owner?: string; progress?: (bytes: number) => void } = {},
  ) {
    const { db, store } = this.deps;
    // The source may fail before the store reads it, which then throws the error.
    source.on('error', () => undefined);
    const storeKey = newUuid();
    const unclaimedMs = UNCLAIMED_TRANSFERS * longestTransferMs(this.maxBytes);
    await db.$executeRaw`
      INSERT INTO store_removals (store_key, due_at)
      VALUES (${storeKey}, now() + ${unclaimedMs}::double precision * interval '1 millisecond')`;
    const key = newFileKey();
    const meter = new Meter(maxBytes, progress);
    let head: Buffer;
    try {
      // If the store fails before it reads a request, the pipeline keeps its connection for the answer.
      await pipeline(source, (bytes: AsyncIterable<Buffer>) =>
        store.write(storeKey, seal(meter.measure(bytes), key), owner),
      );
      head = await this.#readHead(storeKey, key, meter.size);
    } catch (error) {
      await this.discard({ storeKey, kept: false }).catch(() => undefined);
      throw error;
    }
    const mimetype = await sniff(head, hints);
    const file = { storeKey, key, size: meter.size, sha256: meter.digest(), mimetype };
    return { ...file, /** A row references the file now. */ kept: false };
  }

  /** Reads it back, because in memory it would be most of what a slow upload occupies. */
  async #readHead(storeKey: string, key: Buffer, size: number): Promise<Buffer> {
    if (size === 0) return Buffer.alloc(0);
    const range = sealedRange(size, 0, Math.min(size, HEAD_BYTES) - 1);
    return buffer(unseal(await this.deps.store.read(storeKey, range), key, range));
  }

  /** Inserts the row of a received file. @throws StorageFull, and Error if it was not kept in time */
  async keep(file: ReceivedFile, media: NewMedia): Promise<MediaRow> {
    const { db, sealer } = this.deps;
    const { id, accountId, instanceIds = [], messageId = null, filename, origin } = media;
    const [bytes, files, factor] = limitsFor(this.deps.limits, origin);
    const createdAt = new Date(parseUuidTime(id));
    const row = this.#read(
      await db.$queryRaw`
      WITH taken AS (
        DELETE FROM store_removals WHERE store_key = ${file.storeKey} AND gwk_storage_fits(
          ${accountId}::uuid, ${file.size}::bigint, ${bytes}::bigint, ${files}::bigint, ${factor}::integer)
        RETURNING store_key)
      INSERT INTO media (id, account_id, instance_ids, message_id, mimetype, size, sha256,
        filename_sealed, key_sealed, store_key, created_at, expires_at)
      SELECT ${id}::uuid, ${accountId}::uuid, ${[...instanceIds]}::uuid[], ${messageId}::uuid,
        ${file.mimetype}, ${file.size}::integer, ${file.sha256}::bytea,
        ${filename === null ? null : sealer.seal(accountId, FILENAME_COLUMN, filename)}::bytea,
        ${sealer.seal(accountId, KEY_COLUMN, file.key)}::bytea, t.store_key, ${createdAt}::timestamptz,
        ${new Date(createdAt.getTime() + MEDIA_DAYS * DAY_MS)}::timestamptz
      FROM taken t RETURNING *`,
    );
    if (!row) {
      const [{ unclaimed }] = await db.$queryRaw<[{ unclaimed: boolean }]>`
        SELECT EXISTS (SELECT FROM store_removals WHERE store_key = ${file.storeKey}) AS unclaimed`;
      await this.discard(file);
      throw unclaimed ? new StorageFull() : new Error('the file was not kept in time');
    }
    file.kept = true;
    return row;
  }

  /** Removes a received file unless a row references it. */
  async discard({ storeKey, kept }: Pick<ReceivedFile, 'storeKey' | 'kept'>): Promise<void> {
    if (kept) return;
    await this.deps.store.remove(storeKey);
    await this.deps.db.$executeRaw`DELETE FROM store_removals WHERE store_key = ${storeKey}`;
  }

  /** Deletes the row. A job removes the file later. */
  async delete(id: string): Promise<void> {
    await this.deps.db.$executeRaw`DELETE FROM media WHERE id = ${id}::uuid`;
  }

  async find(id: string): Promise<MediaRow | null> {
    return this.#read(await this.deps.db.$queryRaw`SELECT * FROM media WHERE id = ${id}::uuid`);
  }

  /**
   * Opens a file or a range of it (both ends included). The caller must iterate the result, which then closes the file.
   * @throws FileMissing
   */
  async open(row: MediaRow, start = 0, end = row.size - 1): Promise<AsyncGenerator<Buffer>> {
    if (row.removedAt !== null) throw new FileMissing(row.id);
    const key = this.deps.sealer.open(row.accountId, KEY_COLUMN, row.keySealed);
    const range = sealedRange(row.size, start, end);
    return unseal(await this.deps.store.read(row.storeKey, range), key, range);
  }

  #read(rows: Record<string, unknown>[]): MediaRow | null {
    const [row] = toFields<Media>(rows);
    if (!row) return null;
    const { filenameSealed, sha256, ...media } = row;
    const filename = openFilename({ accountId: row.accountId, filenameSealed }, this.deps.sealer);
    return { ...media, filename, sha256: Buffer.from(sha256) };
  }
}

export function openFilename(
  { accountId, filenameSealed }: Pick<Media, 'accountId' | 'filenameSealed'>,
  sealer: Sealer,
): string | null {
  return filenameSealed && sealer.open(accountId, FILENAME_COLUMN, filenameSealed).toString('utf8');
}

/** Counts and hashes the bytes. */
class Meter {
  size = 0;
  readonly #hash = createHash('sha256');

  constructor(
    readonly maxBytes: number,
    readonly progress: (bytes: number) => void,
  ) {}

  async *measure(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.size += chunk.length;
      if (this.size > this.maxBytes) throw new FileTooLarge();
      this.progress(chunk.length);
      this.#hash.update(chunk);
      countStreamed(chunk.length);
      yield chunk;
      freeBuffer(chunk);
    }
  }

  digest(): Buffer {
    return this.#hash.digest();
  }
}

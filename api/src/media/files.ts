import { createHash } from 'node:crypto';
import { PassThrough, pipeline, promises, type Readable } from 'node:stream';
import { newUuid, parseUuidTime } from '@gwk/core/ids';
import { MEDIA_DAYS } from '@gwk/core/resources/media';
import type { Sealer } from '@gwk/core/encryption';
import type { Queryable } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import type { Media } from '../generated/prisma/client.js';
import { countStreamed } from './buffers.js';
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
  filename: string | null;
}

export type MediaRow = Omit<Media, 'filenameSealed' | 'createdAt' | 'sha256'> & {
  filename: string | null;
  sha256: Buffer;
};

export class FileTooLarge extends Error {
  override name = 'FileTooLarge';
}

/** The file of an upload that takes longer is removed. */
const UNCLAIMED_MINUTES = 60;
const DAY_MS = 86_400_000;
const KEY_COLUMN = 'media.key_sealed';
const FILENAME_COLUMN = 'media.filename_sealed';

/**
 * Stores files and their rows. Before the first byte, the store key is recorded for removal (`store_removals`); the row of
 * the file takes the key from there. A crash in between therefore leaves no unreferenced file. Files are encrypted as they
 * are written.
 */
export class MediaFiles {
  constructor(private readonly deps: { db: Queryable; sealer: Sealer; store: MediaStore }) {}

  /** Writes the source to the store. @throws FileTooLarge and the errors of the source and the store */
  async receive(source: Readable, maxBytes: number, hints: TypeHints) {
    const { db, store } = this.deps;
    // The source may fail before the store reads it, which then throws the error.
    source.on('error', () => undefined);
    const storeKey = newUuid();
    await db.$executeRaw`
      INSERT INTO store_removals (store_key, due_at)
      VALUES (${storeKey}, now() + ${UNCLAIMED_MINUTES}::integer * interval '1 minute')`;
    const key = newFileKey();
    const meter = new Meter();
    try {
      // If the store fails before it reads a request, the pipeline keeps its connection for the answer.
      await promises.pipeline(source, (bytes: AsyncIterable<Buffer>) =>
        store.write(storeKey, seal(meter.measure(bytes, maxBytes), key)),
      );
    } catch (error) {
      await this.discard({ storeKey, kept: false }).catch(() => undefined);
      throw error;
    }
    const mimetype = await sniff(meter.head(), hints);
    const file = { storeKey, key, size: meter.size, sha256: meter.digest(), mimetype };
    return { ...file, /** A row references the file now. */ kept: false };
  }

  /** Inserts the row of a received file. @throws Error after the hour in which it must be kept */
  async keep(file: ReceivedFile, media: NewMedia): Promise<MediaRow> {
    const { db, sealer } = this.deps;
    const { id, accountId, instanceIds = [], messageId = null, filename } = media;
    const createdAt = new Date(parseUuidTime(id));
    const row = this.#read(
      await db.$queryRaw`
      WITH taken AS (DELETE FROM store_removals WHERE store_key = ${file.storeKey} RETURNING store_key)
      INSERT INTO media (id, account_id, instance_ids, message_id, mimetype, size, sha256,
        filename_sealed, key_sealed, store_key, created_at, expires_at)
      SELECT ${id}::uuid, ${accountId}::uuid, ${[...instanceIds]}::uuid[], ${messageId}::uuid,
        ${file.mimetype}, ${file.size}::integer, ${file.sha256}::bytea,
        ${filename === null ? null : sealer.seal(accountId, FILENAME_COLUMN, filename)}::bytea,
        ${sealer.seal(accountId, KEY_COLUMN, file.key)}::bytea, t.store_key, ${createdAt}::timestamptz,
        ${new Date(createdAt.getTime() + MEDIA_DAYS * DAY_MS)}::timestamptz
      FROM taken t RETURNING *`,
    );
    if (!row) throw new Error('the file was not kept in time');
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

  /** Opens a file or a range of it (both ends included). @throws FileMissing */
  async open(row: MediaRow, start = 0, end = row.size - 1): Promise<Readable> {
    if (row.removedAt !== null) throw new FileMissing(row.id);
    const key = this.deps.sealer.open(row.accountId, KEY_COLUMN, row.keySealed);
    const range = sealedRange(row.size, start, end);
    const sealed = await this.deps.store.read(row.storeKey, range);
    return pipeline(
      sealed,
      (bytes) => unseal(bytes, key, range),
      new PassThrough(),
      () => undefined,
    );
  }

  #read(rows: Record<string, unknown>[]): MediaRow | null {
    const [row] = toFields<Media>(rows);
    if (!row) return null;
    const { filenameSealed: sealed, sha256, ...media } = row;
    const filename = sealed && this.deps.sealer.open(row.accountId, FILENAME_COLUMN, sealed).toString('utf8');
    return { ...media, filename, sha256: Buffer.from(sha256) };
  }
}

/** Counts and hashes the bytes and stores the first ones for sniffing. */
class Meter {
  size = 0;
  readonly #hash = createHash('sha256');
  readonly #head: Buffer[] = [];

  async *measure(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      const missing = HEAD_BYTES - this.size;
      if (missing > 0) this.#head.push(Buffer.from(chunk.subarray(0, missing)));
      this.size += chunk.length;
      if (this.size > maxBytes) throw new FileTooLarge();
      this.#hash.update(chunk);
      countStreamed(chunk.length);
      yield chunk;
    }
  }

  head(): Buffer {
    return Buffer.concat(this.#head);
  }

  digest(): Buffer {
    return this.#hash.digest();
  }
}

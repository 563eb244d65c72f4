import { timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '@gwk/core/canonical-json';
import { Problem } from '@gwk/core/problems';
import type { Page, PageQuery } from '@gwk/core/resources/common';
import type { Sealer } from '@gwk/core/encryption';
import { z } from 'zod';
import type { PageRange } from '../database/keyset-pages.js';

/** Schema of a page of results. */
export const pageSchema = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable() });

/**
 * Cursor of a list: the id of the last row shown. It is opaque and authenticated, and valid for 24 hours for one account,
 * route and set of filters. New rows do not move a page, because lists start with the newest.
 *
 * Format: milliseconds since 1970 (6 bytes) | id (16) | tag (16), in base64url.
 */
const ID_BYTES = 16;
const TIME_BYTES = 6;
const TAG_BYTES = 16;
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_AHEAD_MS = 60_000;
const FORM = /^[A-Za-z0-9_-]{51}$/;

export interface ListIdentity {
  accountId: string;
  /** Method and path, with the ids of the request. */
  route: string;
  /** Query parameters without `cursor` and `limit`. */
  filters: Record<string, unknown>;
}

interface ListRequest extends Omit<ListIdentity, 'filters'> {
  /** `limit`, `cursor` and the filters. */
  query: z.output<typeof PageQuery>;
}

export class Cursors {
  constructor(
    private readonly sealer: Sealer,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Answers a list operation.
   * @param read reads rows, newest first. One row more than the page shows means that another page follows.
   * @throws Problem `invalid-cursor`
   */
  async page<R extends { id: string }, T>(
    { accountId, route, query: { limit, cursor, ...filters } }: ListRequest,
    read: (page: PageRange) => Promise<R[]>,
    show: (row: R) => T,
  ): Promise<{ status: 200; body: Page<T> }> {
    const list = { accountId, route, filters };
    const rows = await read({ before: this.read(list, cursor), limit: limit + 1 });
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const next = rows.length > limit && last ? this.issue(list, last.id) : null;
    return { status: 200, body: { data: shown.map(show), next_cursor: next } };
  }

  issue(list: ListIdentity, lastId: string): string {
    const payload = Buffer.alloc(TIME_BYTES + ID_BYTES);
    payload.writeUIntBE(this.now(), 0, TIME_BYTES);
    payload.write(lastId.replaceAll('-', ''), TIME_BYTES, 'hex');
    return Buffer.concat([payload, this.#tags(list, payload)[0]!]).toString('base64url');
  }

  /**
   * Returns the id (UUID) of the last row of the previous page; null: the first page.
   * @throws Problem `invalid-cursor`
   */
  read(list: ListIdentity, cursor: string | undefined): string | null {
    if (cursor === undefined) return null;
    if (!FORM.test(cursor)) throw new Problem('invalid-cursor');
    const bytes = Buffer.from(cursor, 'base64url');
    const payload = bytes.subarray(0, TIME_BYTES + ID_BYTES);
    const tag = bytes.subarray(TIME_BYTES + ID_BYTES);
    const mayBe = this.#tags(list, payload).some((expected) => timingSafeEqual(tag, expected));
    if (!mayBe) throw new Problem('invalid-cursor');
    const age = this.now() - payload.readUIntBE(0, TIME_BYTES);
    if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) throw new Problem('invalid-cursor');
    const hex = payload.toString('hex', TIME_BYTES);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  /** Computes the tags under all encryption keys, so that cursors survive a key rotation. */
  #tags({ accountId, route, filters }: ListIdentity, payload: Buffer): Buffer[] {
    const text = `${route}\n${canonicalJson(filters)}\n${payload.toString('hex')}`;
    return this.sealer.fingerprints(accountId, 'cursor', text).map((tag) => tag.subarray(0, TAG_BYTES));
  }
}

import { timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '@gwk/core/canonical-json';
import { Problem } from '@gwk/core/problems';
import type { Page } from '@gwk/core/resources/common';
import type { Sealer } from '@gwk/core/encryption';
import { z } from 'zod';

/** (spec: Page of results) */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable() });

/**
 * Where a list goes on: after the last id shown. Opaque, authentic, and good only for the account, the route and the
 * filters that it was made for, for a day. Rows that arrive meanwhile are newer and move nothing.
 *
 * Form: milliseconds since 1970 (6 bytes) | id (16) | tag (16).
 */
const ID_BYTES = 16;
const TIME_BYTES = 6;
const TAG_BYTES = 16;
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_AHEAD_MS = 60_000;
const FORM = /^[A-Za-z0-9_-]{51}$/;

export interface ListOf {
  accountId: string;
  /** Method and path, with the ids that it names. */
  route: string;
  /** The query without `cursor` and `limit`. */
  filters: Record<string, unknown>;
}

export class Cursors {
  readonly #sealer: Sealer;
  readonly #now: () => number;

  constructor(sealer: Sealer, now: () => number = Date.now) {
    this.#sealer = sealer;
    this.#now = now;
  }

  /** A page of rows read newest first, one more than `limit` where there are more. */
  page<R extends { id: string }, T>(
    list: ListOf,
    limit: number,
    rows: readonly R[],
    show: (row: R) => T,
  ): Page<T> {
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const next = rows.length > limit && last ? this.issue(list, last.id) : null;
    return { data: shown.map(show), next_cursor: next };
  }

  issue(list: ListOf, lastId: string): string {
    const payload = Buffer.alloc(TIME_BYTES + ID_BYTES);
    payload.writeUIntBE(this.#now(), 0, TIME_BYTES);
    payload.write(lastId.replaceAll('-', ''), TIME_BYTES, 'hex');
    return Buffer.concat([payload, this.#tags(list, payload)[0]!]).toString('base64url');
  }

  /**
   * The id (UUID) after which the list goes on; null: from the beginning.
   * @throws Problem `invalid-cursor`
   */
  read(list: ListOf, cursor: string | undefined): string | null {
    if (cursor === undefined) return null;
    if (!FORM.test(cursor)) throw new Problem('invalid-cursor');
    const bytes = Buffer.from(cursor, 'base64url');
    const payload = bytes.subarray(0, TIME_BYTES + ID_BYTES);
    const tag = bytes.subarray(TIME_BYTES + ID_BYTES);
    const mayBe = this.#tags(list, payload).some((expected) => timingSafeEqual(tag, expected));
    if (!mayBe) throw new Problem('invalid-cursor');
    const age = this.#now() - payload.readUIntBE(0, TIME_BYTES);
    if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) throw new Problem('invalid-cursor');
    const hex = payload.toString('hex', TIME_BYTES);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  /** Under every key: a list goes on through a rotation. */
  #tags({ accountId, route, filters }: ListOf, payload: Buffer): Buffer[] {
    const text = `${route}\n${canonicalJson(filters)}\n${payload.toString('hex')}`;
    return this.#sealer.fingerprints(accountId, 'cursor', text).map((tag) => tag.subarray(0, TAG_BYTES));
  }
}

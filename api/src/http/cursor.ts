import { canonicalJson } from '@gwk/core/text/canonical-json';
import { Problem } from '@gwk/core/problems/problems';
import type { Page, PageQuery } from '@gwk/core/resources/common';
import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import { z } from 'zod';
import type { PageRange } from '../database/keyset-pages.js';

/** Schema of a page of results. @param id its name in the OpenAPI document */
export const pageSchema = <T extends z.ZodType, M extends z.ZodRawShape>(
  item: T,
  id: string,
  more = {} as M,
) => z.object({ data: z.array(item), next_cursor: z.string().nullable(), ...more }).meta({ id });

const MAX_AGE_MS = 24 * 3_600_000;
const MAX_AHEAD_MS = 60_000;

export interface ListIdentity {
  accountId: string;
  /** Method and path, with the ids of the request. */
  route: string;
  /** Query parameters without `cursor` and `limit`. */
  filters: Record<string, unknown>;
}

/** Content of a cursor. */
interface Position {
  /** UUID of the last row shown; for groups its network id. */
  id: string;
  /** Milliseconds since 1970. */
  at: number;
}

interface ListRequest extends Omit<ListIdentity, 'filters'> {
  /** `limit`, `cursor` and the filters. */
  query: z.output<typeof PageQuery>;
}

/**
 * Cursors of lists: the encrypted id of the last row shown. A cursor is valid for 24 hours for one account, route and set of
 * filters. New rows do not move a page: the pages continue after a row, not after a count.
 */
export class Cursors {
  constructor(
    private readonly sealer: Sealer,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Answers a list operation.
   * @param read reads rows, newest first (groups: by their network id). One row more than the page shows means that another page follows.
   * @param isFull whether `read` stopped because of the size of its rows; its last row then belongs to the next page
   * @throws Problem `invalid-cursor`
   */
  async page<R extends { id: string }, T>(
    { accountId, route, query: { limit, cursor, ...filters } }: ListRequest,
    read: (page: PageRange) => Promise<R[]>,
    show: (row: R) => T,
    isFull: (rows: readonly R[]) => boolean = () => false,
  ): Promise<{ status: 200; body: Page<T> }> {
    const list = { accountId, route, filters };
    const rows = await read({ before: this.read(list, cursor), limit: limit + 1 });
    const shown = rows.slice(0, isFull(rows) ? Math.min(limit, rows.length - 1) : limit);
    const last = shown.at(-1);
    const next = rows.length > shown.length && last ? this.issue(list, last.id) : null;
    return { status: 200, body: { data: shown.map(show), next_cursor: next } };
  }

  issue(list: ListIdentity, id: string): string {
    return this.sealer
      .sealJson(list.accountId, describePlace(list), { id, at: this.now() })
      .toString('base64url');
  }

  /**
   * Returns the id of the last row of the previous page; null: the first page.
   * @throws Problem `invalid-cursor`
   */
  read(list: ListIdentity, cursor: string | undefined): string | null {
    if (cursor === undefined) return null;
    const sealed = Buffer.from(cursor, 'base64url');
    if (sealed.toString('base64url') !== cursor) throw new Problem('invalid-cursor');
    try {
      const { id, at } = this.sealer.openJson(list.accountId, describePlace(list), sealed) as Position;
      const age = this.now() - at;
      if (age <= MAX_AGE_MS && age >= -MAX_AHEAD_MS) return id;
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
    }
    throw new Problem('invalid-cursor');
  }
}

const describePlace = ({ route, filters }: ListIdentity): string =>
  `cursor of ${route}\n${canonicalJson(filters)}`;

import type { Pool, PoolClient, QueryArrayConfig } from 'pg';
import { sqlStateOf } from './grouping.js';

export const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Statements that stand one behind the other in Postgres: each is sent while those before it still run, over one
 * connection of the pool, which is given back when none is under way. Postgres goes from one to the next without
 * waiting for this process, and does them all in one of its processes, which has what they need at hand: side by side
 * they take more of the processor each, and wait for each other's rows.
 *
 * Whoever is slow holds up those behind it. Each is a transaction of its own: one that fails is undone alone.
 *
 * @remarks The pool's clients have to be in pipeline mode.
 */
export class Pipeline {
  #held: Held | undefined;

  /** @throws what the driver throws */
  async query(pool: Pool, statement: QueryArrayConfig): Promise<unknown[][]> {
    if (this.#held === undefined || this.#held.fault !== undefined) this.#held = new Held(pool);
    const held = this.#held;
    held.underWay++;
    try {
      return await ask(await held.client, statement);
    } catch (error) {
      // Its own trace leads to the socket that it was read from.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (!leavesSessionWhole(error)) held.fault ??= error as Error;
      throw error;
    } finally {
      if (--held.underWay === 0) this.#giveBack(held);
    }
  }

  #giveBack(held: Held): void {
    if (this.#held === held) this.#held = undefined;
    held.giveBack();
  }
}

/**
 * With a callback of our own. Where it gets none, the driver assigns a function to a property of the statement; such
 * functions V8 puts among the old objects as they are made, and all that they hold (the statement, its values, their
 * bytes) lives until old objects are searched: that alone was half of what made V8 search them.
 */
function ask(client: PoolClient, statement: QueryArrayConfig): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    client.query<unknown[]>(statement, (error: Error | null, result) => {
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

/** A statement that waited for a lock for too long had been prepared, and left nothing behind: that is to be expected. */
const leavesSessionWhole = (error: unknown) => sqlStateOf(error) === LOCK_NOT_AVAILABLE;

class Held {
  readonly client: Promise<PoolClient>;
  underWay = 0;
  /**
   * What broke the connection, or a statement on it: a session may be left with names of statements that it does not
   * know, so it is not used again, as the pool does for its own.
   */
  fault: Error | undefined;
  readonly #onError = (error: Error): void => void (this.fault = error);

  constructor(pool: Pool) {
    this.client = pool.connect().then((client) => client.on('error', this.#onError));
  }

  giveBack(): void {
    const release = (client: PoolClient): void => {
      client.off('error', this.#onError);
      client.release(this.fault);
    };
    // Where there never was a connection, those who asked for it have been told.
    this.client.then(release, () => {});
  }
}

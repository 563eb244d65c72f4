import type { Pool, PoolClient, QueryArrayConfig } from 'pg';
import { readSqlState } from './grouping.js';

export const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Sends statements over one pool connection without waiting for the answers to earlier ones, and releases the connection when
 * none is running. Postgres runs them in one backend with warm caches; in parallel they would need more CPU and wait for each
 * other's row locks. A slow statement delays the ones behind it. Each is its own transaction
 * (docs/decisions/0024-pipeline-accept-batches-on-one-connection.md).
 *
 * @remarks The clients of the pool must be in pipeline mode.
 */
export class Pipeline {
  #current: PipelineConnection | undefined;

  /** @throws the driver's error */
  async query(pool: Pool, statement: QueryArrayConfig): Promise<unknown[][]> {
    if (this.#current === undefined || this.#current.fault !== undefined)
      this.#current = new PipelineConnection(pool);
    const connection = this.#current;
    connection.running++;
    try {
      return await runQuery(await connection.client, statement);
    } catch (error) {
      // The original stack trace shows only the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (!keepsSessionUsable(error)) connection.fault ??= error as Error;
      throw error;
    } finally {
      if (--connection.running === 0) this.#release(connection);
    }
  }

  #release(connection: PipelineConnection): void {
    if (this.#current === connection) this.#current = undefined;
    connection.release();
  }
}

/**
 * Runs a query with a callback. Without one, the driver assigns a function to a property of the statement. V8 allocates such
 * functions in the old generation, so the statement and its values live until a major collection. That caused half of
 * the major collections.
 */
function runQuery(client: PoolClient, statement: QueryArrayConfig): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    client.query<unknown[]>(statement, (error: Error | null, result) => {
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

/** A lock timeout is expected: the statement was prepared, and the session stays usable. */
const keepsSessionUsable = (error: unknown) => readSqlState(error) === LOCK_NOT_AVAILABLE;

class PipelineConnection {
  readonly client: Promise<PoolClient>;
  running = 0;
  /**
   * Error of the connection or of a statement. The session may then lack prepared statements that the driver expects,
   * so it is closed instead of used again.
   */
  fault: Error | undefined;
  readonly #onError = (error: Error): void => void (this.fault = error);

  constructor(pool: Pool) {
    this.client = pool.connect().then((client) => client.on('error', this.#onError));
  }

  release(): void {
    const release = (client: PoolClient): void => {
      client.off('error', this.#onError);
      client.release(this.fault);
    };
    // If the connection failed, the queries were rejected.
    this.client.then(release, () => {});
  }
}

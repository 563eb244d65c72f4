import type { Database } from '@gwk/api/database/database';
import pg from 'pg';
import { postgresUrl } from '../servers/servers.js';

/**
 * Records which partitions of messages a call opens. Postgres reports the executed plans (auto_explain), including
 * those of statements in functions. A plan names only the partitions that it opened.
 */
export class OpenedPartitions {
  #plans: string[] = [];

  private constructor(readonly client: pg.Client) {
    client.on('notice', ({ message }) => this.#plans.push(message ?? ''));
  }

  /** Watches on its own connection to the same database. */
  static async watch(database: Database): Promise<OpenedPartitions> {
    const [row] = await database.$queryRaw<{ name: string }[]>`SELECT current_database() AS name`;
    const url = new URL(postgresUrl());
    url.pathname = `/${row!.name}`;
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    await client.query(`LOAD 'auto_explain'`);
    await client.query(`SET auto_explain.log_min_duration = 0`);
    await client.query(`SET auto_explain.log_nested_statements = on`);
    await client.query(`SET client_min_messages = log`);
    return new OpenedPartitions(client);
  }

  /**
   * Partitions in the order in which the call first opened them. A plan with a bitmap also names the index, which
   * the pattern skips.
   */
  async by(call: string, values: unknown[]): Promise<string[]> {
    this.#plans = [];
    await this.client.query(call, values);
    const named = this.#plans.flatMap((plan) =>
      [...plan.matchAll(/ on (messages_[a-z0-9]+)\b/g)].map(([, name]) => name!),
    );
    return [...new Set(named)];
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

/** Partition of a day (UTC), which must exist. */
export const partitionAt = (time: number): string =>
  `messages_${new Date(time).toISOString().slice(0, 10).replaceAll('-', '')}`;

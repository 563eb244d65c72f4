import pg from 'pg';
import { createClient } from 'redis';

/** Of the servers that a benchmark runs on, beside what `machine` says of the machine. */
export async function serverVersions(databaseUrl: string, redisUrl: string): Promise<string> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  const { rows } = await database.query<{ server_version: string }>('SHOW server_version');
  await database.end();
  const redis = createClient({ url: redisUrl });
  await redis.connect();
  const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'of an unknown version';
  redis.destroy();
  return `PostgreSQL ${rows[0]!.server_version}, Redis ${version}`;
}

import { makeWorld } from '../support/api/world.js';
import { TestApi } from '../support/api/test-api.js';
import { migrate } from '@gwk/api/database/migrate';
import pg from 'pg';
import { query } from '../support/servers/database.js';
import { PostgresPlace } from '../support/servers/postgres-place.js';
import { describeWithWholePostgres } from '../support/servers/postgres-programs.js';
import { readPageCommands } from '../support/readme.js';
import { redisPrefix, redisUrl } from '../support/servers/servers.js';

/** Access that is open in a database, and that an operator may have closed. */
const OPEN = `SELECT (SELECT count(*)::int FROM api_keys WHERE revoked_at IS NULL) AS keys,
  (SELECT count(*)::int FROM accounts WHERE suspended_at IS NULL) AS accounts,
  (SELECT namespaces FROM accounts) AS namespaces,
  (SELECT count(*)::int FROM webhook_endpoints WHERE enabled) AS endpoints`;

const ALL = { keys: 1, accounts: 1, namespaces: ['default', 'shop'], endpoints: 1 };

describeWithWholePostgres('the commands of docs/operate.md that close access after a restore', () => {
  let place: PostgresPlace;
  const restored = () => place.url('gwk', 'gwk');
  const former = () => place.url('gwk', 'gwk_before');

  beforeAll(async () => {
    place = new PostgresPlace();
    await place.start();
    await migrate(restored());
    const api = await TestApi.start({
      databaseUrl: restored(),
      redisUrl: redisUrl(),
      redisPrefix: redisPrefix(),
    });
    await makeWorld(api, await api.account());
    await api.stop();
    await query(restored(), `UPDATE accounts SET namespaces = '{default,shop}'`);
  });
  afterAll(() => place?.stop());

  /** State after the restore procedure, if `since` was executed after the backup. */
  async function afterRestore(since: string): Promise<unknown> {
    const administrator = place.url('administrator', 'postgres');
    await query(administrator, 'DROP DATABASE IF EXISTS gwk_before');
    await query(administrator, 'CREATE DATABASE gwk_before TEMPLATE gwk OWNER gwk');
    await query(former(), since);
    await place.type(readPageCommands('operate.md', 'BEFORE_URL'), { BEFORE_URL: former() });
    const connection = new pg.Client({ connectionString: restored() });
    await connection.connect();
    try {
      const { rows } = await connection.query<Record<string, unknown>>(OPEN);
      await connection.query('UPDATE api_keys SET revoked_at = NULL');
      await connection.query(`UPDATE accounts SET suspended_at = NULL, namespaces = '{default,shop}'`);
      await connection.query('UPDATE webhook_endpoints SET enabled = true');
      return rows[0];
    } finally {
      await connection.end();
    }
  }

  const noEndpoint = { ...ALL, endpoints: 0 };
  test.each<[string, string, object]>([
    ['change nothing if nothing was closed', 'SELECT', ALL],
    ['revoke a revoked key', 'UPDATE api_keys SET revoked_at = now()', { ...ALL, keys: 0 }],
    ['suspend a suspended account', 'UPDATE accounts SET suspended_at = now()', { ...ALL, accounts: 0 }],
    [
      'remove a namespace that was removed, and add no other',
      `UPDATE accounts SET namespaces = '{shop,bank}'`,
      { ...ALL, namespaces: ['shop'] },
    ],
    ['disable an endpoint that was deleted', 'DELETE FROM webhook_endpoints', noEndpoint],
    ['disable an endpoint that was disabled', 'UPDATE webhook_endpoints SET enabled = false', noEndpoint],
    [
      'disable an endpoint whose URL was changed',
      `UPDATE webhook_endpoints SET url = 'https://x.example'`,
      noEndpoint,
    ],
    [
      'disable an endpoint whose secret was changed',
      'UPDATE webhook_secrets SET id = gwk_new_id()',
      noEndpoint,
    ],
    [
      'disable an endpoint whose instances were removed',
      'DELETE FROM webhook_endpoint_instances',
      noEndpoint,
    ],
  ])('%s', async (_sentence, since, open) => {
    expect(await afterRestore(since)).toEqual(open);
  });
});

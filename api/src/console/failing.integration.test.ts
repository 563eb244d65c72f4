import pg from 'pg';
import { postgresUrl } from '@gwk/test/support/servers/servers';
import { ManualClock } from '@gwk/test/support/clock';
import { browserOf, createUser } from '@gwk/test/support/api/console';
import { until } from '@gwk/test/support/wait';
import { sampleOf } from '@gwk/test/support/api/console-world';
import { openApi } from '@gwk/test/support/api/open-api';
import { CONSOLE_OPERATIONS } from '../public-api/operations.js';

/** Every operation of the console answers with a problem while Postgres refuses connections. */
test('all operations answer internal-error with Retry-After without Postgres', async () => {
  const api = await openApi({ clock: new ManualClock() });
  const server = new pg.Client({ connectionString: postgresUrl() });
  try {
    const browser = await browserOf(api, await createUser(api));
    await server.connect();
    const name = new URL(api.options.databaseUrl).pathname.slice(1);
    await server.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    // A statement on a connection that is just ending has no answer, and no deadline by this clock.
    await until(
      async () => {
        const { rows } = await server.query('SELECT FROM pg_stat_activity WHERE datname = $1', [name]);
        return rows.length === 0;
      },
      { what: 'all connections are closed' },
    );
    for (const operation of CONSOLE_OPERATIONS) {
      const { method, path, body } = sampleOf(operation);
      const { status, headers } = await browser.call(method, path, { body });
      expect([operation.name, status, headers['retry-after']]).toEqual([operation.name, 500, '1']);
    }
  } finally {
    await server.end();
    await api.stop();
  }
});

import { postgresUrl } from '@gwk/test/support/servers/servers';
import pg from 'pg';
import { ManualClock } from '@gwk/test/support/clock';
import { openApiDocument } from '../openapi/document.js';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { ABSENT_IDS, buildSample } from '@gwk/test/support/api/contract/requests';
import { OPERATIONS } from './operations.js';

/**
 * Every operation answers with a problem while Postgres refuses connections. The clock is fixed, so no
 * operation waits for its time limit.
 */
let api: TestApi;
let client: ApiClient;
let server: pg.Client;

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://docs.example.org',
});

beforeAll(async () => {
  api = await openApi({ clock: new ManualClock() });
  client = await api.clientOf(await api.account());
  server = new pg.Client({ connectionString: postgresUrl() });
  await server.connect();
  const name = new URL(api.options.databaseUrl).pathname.slice(1);
  await server.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
  await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
});
afterAll(async () => {
  await server.end();
  await api.stop();
});

test.each(OPERATIONS)('$method $path: internal-error with Retry-After', async (operation) => {
  const { method, path, body, headers } = buildSample(operation, document, ABSENT_IDS);
  const answer = await client.call(method, path, { body, ...(headers && { headers }) });
  expect([answer.status, answer.body.type]).toEqual([
    500,
    'https://docs.example.org/problems/internal-error',
  ]);
  expect(answer.headers['retry-after']).toBe('1');
});

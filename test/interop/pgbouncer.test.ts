import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { detectPooling } from '@gwk/api/database/pooler';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { hasPgBouncer, startPgBouncer, type PgBouncer } from '../support/servers/pgbouncer.js';
import { checkTraffic, settle } from '../support/gateway/check-traffic.js';
import { openStage } from '../support/gateway/stage.js';
import { sendTraffic } from '../support/gateway/traffic.js';
import { baseEnvironment, GWK } from '../support/program.js';

/** With the real PgBouncer, whose settings are its defaults unless a test names others. */
const describeWithPgBouncer = hasPgBouncer ? describe : describe.skip;

const TRANSACTION = { pool_mode: 'transaction' };
const UNPREPARED = { ...TRANSACTION, max_prepared_statements: '0' };
const STATEMENT = { pool_mode: 'statement' };
const EXIT_CONFIGURATION = 2;

interface Ended {
  code: number | null;
  output: string;
}

function run(command: string, databaseUrl: string): Promise<Ended> {
  const env = {
    ...baseEnvironment(),
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'redis://127.0.0.1:1',
    GWK_ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
    ...(command === 'api' && { GWK_OPERATOR_TOKEN: 'x'.repeat(32), GWK_API_CLUSTER_TOKEN: 'token' }),
  };
  const args = [GWK, ...command.split(' ')];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describeWithPgBouncer('behind PgBouncer', () => {
  let database: TestDatabase;
  const poolers: PgBouncer[] = [];
  async function through(settings: Record<string, string>, url = database.url): Promise<string> {
    const pooler = await startPgBouncer(url, settings);
    poolers.push(pooler);
    return pooler.url;
  }
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => Promise.all(poolers.splice(0).map((pooler) => pooler.stop())));
  afterAll(() => database.drop());

  test.each([
    ['session', {}],
    ['transaction', TRANSACTION],
  ])('the gateway delivers everything once, in %s mode', async (mode, settings) => {
    const stage = await openStage('pooled', { databaseUrl: (postgres) => through(settings, postgres) });
    try {
      const { customer, instance, witnesses, gateway } = stage;
      const traffic = await sendTraffic({
        clients: customer.clients,
        instanceId: instance.id,
        name: 'pooled',
        conversations: 20,
        perConversation: 10,
      });
      await settle(witnesses);
      const { sums, faults } = await checkTraffic(traffic, witnesses);
      expect(faults).toEqual([]);
      expect(sums).toMatchObject({ accepted: 200, left: 200, 'repeated posts': 0 });
      const lines = [...gateway.logs().values()].flat();
      expect(lines.filter((line) => /prepared statement|startup parameter/.test(line))).toEqual([]);
      expect(lines.some((line) => line.includes('statements have no timeout'))).toBe(mode === 'transaction');
    } finally {
      await stage.close();
    }
  });

  test.each([
    ['none', 'no pooler', undefined],
    ['session', 'session mode', {}],
    ['transaction', 'transaction mode', TRANSACTION],
    ['transaction', 'a pool that is used in turn', { ...TRANSACTION, server_round_robin: '1' }],
    ['transaction', 'a pool of one connection', { ...TRANSACTION, default_pool_size: '1' }],
  ] as const)('detects %s: %s', async (expected, _what, settings) => {
    const url = settings ? await through(settings) : database.url;
    expect(await detectPooling({ url })).toBe(expected);
  });

  test.each([
    ['api', 'transactions without prepared statements', UNPREPARED],
    ['worker', 'transactions without prepared statements', UNPREPARED],
    ['migrate --wait', 'transactions without prepared statements', UNPREPARED],
    ['api', 'statements', STATEMENT],
    ['migrate', 'statements', STATEMENT],
    ['migrate', 'transactions', TRANSACTION],
    ['encryption status', 'transactions', TRANSACTION],
  ])('gwk %s names a pooler of %s and exits with 2', async (command, pooled, settings) => {
    const { code, output } = await run(command, await through(settings));
    expect({ code, output }).toEqual({
      code: EXIT_CONFIGURATION,
      output: expect.stringContaining(`pools ${pooled}`),
    });
  });

  test('gwk api names a parameter of the URL that the pooler refuses', async () => {
    const url = `${await through({})}?options=-c%20statement_timeout%3D30000`;
    const { code, output } = await run('api', url);
    expect(code).toBe(EXIT_CONFIGURATION);
    expect(output).toContain('unsupported startup parameter in options: statement_timeout');
  });

  test('gwk migrate applies migrations in session mode, and waits for them in transaction mode', async () => {
    expect(await run('migrate', await through({}))).toMatchObject({ code: 0 });
    expect(await run('migrate --wait', await through(TRANSACTION))).toMatchObject({ code: 0 });
  });
});

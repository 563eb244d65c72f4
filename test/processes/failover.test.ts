import { pause, realTime } from '../support/wait.js';
import { checkTraffic, settle } from '../support/gateway/check-traffic.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { sendTraffic, type Traffic } from '../support/gateway/traffic.js';
import { query } from '../support/servers/database.js';

/** Managed services stay read-only for about this time during a failover. */
const READ_ONLY_MS = 20_000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('failover', { apis: 2, ownPostgres: true });
});
afterAll(() => stage.close());

/** Can write also while others cannot. */
const run = (sql: string) =>
  query(`${stage.gateway.postgres.url}?options=-c%20default_transaction_read_only%3Doff`, sql);

async function setServer(readOnly: 'on' | 'off'): Promise<void> {
  await run(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly}`);
  await run('SELECT pg_reload_conf()');
}

/** As a promoted server to which the name of the database points now. Connections to the former one stay read-only. */
const promote = () =>
  run(`ALTER DATABASE ${new URL(stage.gateway.postgres.url).pathname.slice(1)}
    SET default_transaction_read_only = off`);

function endConnections(): Promise<unknown> {
  return run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gwk-%'");
}

function startTraffic(name: string, perConversation: number): Promise<Traffic> {
  const { customer, instance } = stage;
  return sendTraffic({
    ...{ clients: customer.clients, instanceId: instance.id, name, perConversation },
    conversations: 8,
    perSecond: 20,
  });
}

async function expectNothingLost(traffic: Traffic, accepted: number): Promise<void> {
  await settle(stage.witnesses);
  const { sums, faults } = await checkTraffic(traffic, stage.witnesses);
  expect(faults).toEqual([]);
  expect(sums).toMatchObject({ accepted, left: accepted });
}

test('loses and repeats nothing when Postgres ends all connections', async () => {
  const traffic = startTraffic('ended', 25);
  for (let times = 0; times < 5; times++) {
    await pause(realTime(1_000));
    await endConnections();
  }
  await expectNothingLost(await traffic, 200);
});

test('loses and repeats nothing when Postgres is read-only for 20 s, and then another server takes over', async () => {
  const traffic = startTraffic('read-only', 25);
  await pause(realTime(2_000));
  await setServer('on');
  await pause(READ_ONLY_MS);
  // Existing connections reach the former server, which remains read-only.
  await promote();
  await expectNothingLost(await traffic, 200);
  await setServer('off');
});

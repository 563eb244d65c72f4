import type { AvailabilityOut } from '@gwk/api/resources/availability';
import type { InstanceOut } from '@gwk/api/resources/instance';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { fromPublicId } from '@gwk/core/ids/ids';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Exposition } from '../support/exposition.js';
import type { ProcessInfo } from '../support/processes.js';
import { describeWithPrometheus } from '../support/prometheus/programs.js';
import { PrometheusServer } from './prometheus-server.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { until } from '../support/wait.js';

const LEASE_MS = 12_000;
const RENEW_MS = 3_900;

interface Engine {
  instance: InstanceOut;
  uuid: string;
  process: ProcessInfo;
  port: number;
}

describeWithPrometheus('availability with a Prometheus that scrapes the engines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-availability-'));
  let prometheus: PrometheusServer;
  let stage: Stage;
  let db: Database;
  let engines: Engine[];

  beforeAll(async () => {
    prometheus = await PrometheusServer.at(folder);
    const api = { GWK_API_LEASE_MS: String(LEASE_MS), GWK_API_LEASE_RENEW_MS: String(RENEW_MS) };
    const worker = { PROMETHEUS_URL: prometheus.url };
    stage = await openStage('seen', { ownRedis: true, settings: { api, worker } });
    db = openDatabase({ url: stage.gateway.settings.databaseUrl, poolSize: 2, program: 'test' });
    await stage.customer.client.connectedInstance('second');
    engines = await findEngines(stage);
    await prometheus.start(engines.map(({ port }) => port));
    // Without the operator no engine restarts, and no exit is noticed.
    await stage.gateway.operator.kill('SIGSTOP');
  });
  afterAll(async () => {
    await stage?.gateway.operator.kill('SIGCONT');
    await db?.$disconnect();
    await prometheus?.stop();
    await stage?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const renewedAt = async ({ uuid }: Engine): Promise<number> =>
    (await db.instanceLease.findUniqueOrThrow({ where: { instanceId: uuid } })).renewedAt!.getTime();
  const outages = async ({ instance }: Engine) => {
    const path = `/v1/instances/${instance.id}/availability`;
    return (await stage.customer.client.expect<AvailabilityOut>(200, 'GET', path)).incidents;
  };
  const states = ({ uuid }: Engine) =>
    db.instanceState.findMany({ where: { instanceId: uuid }, orderBy: [{ since: 'asc' }, { id: 'asc' }] });
  /** States after the first connection. Earlier ones are no outage. */
  const outagesOf = async (engine: Engine) => {
    const all = await states(engine);
    return all.slice(all.findIndex(({ state }) => state === 'connected') + 1);
  };
  const storedOutage = (engine: Engine) =>
    until(async () => (await outagesOf(engine))[0], { what: 'the outage is stored' });
  /** Runs of the worker job that checks leases. It declares an engine unresponsive after watching for a whole lease. */
  const leaseChecks = async (): Promise<number> => {
    const port = Number(stage.gateway.workers[0]!.options.env['GWK_WORKER_PORT']);
    const seen = await Exposition.of(port);
    return seen.value('gwk_worker_job_runs_total', { job_name: 'unresponsive-engines', result: 'ok' }) ?? 0;
  };

  test('records no outage while Prometheus, Redis and the worker are down for longer than a lease', async () => {
    const { gateway } = stage;
    await prometheus.value('count(gwk_instance_connected == 1)', (count) => count === 2);
    await Promise.all([prometheus.kill(), gateway.redis.kill('SIGKILL')]);
    await gateway.workers[0]!.kill('SIGSTOP');
    const since = Date.now();
    await until(() => Date.now() - since > LEASE_MS * 1.2, { what: 'a lease has passed', everyMs: 500 });
    await gateway.workers[0]!.kill('SIGCONT');
    const before = await leaseChecks();
    await until(async () => (await leaseChecks()) > before + (LEASE_MS / 1000) * 1.2, {
      what: 'the worker has checked leases for longer than a lease',
      everyMs: 500,
    });
    for (const engine of engines) expect(await outagesOf(engine)).toEqual([]);
    await gateway.redis.start();
    await prometheus.start(engines.map(({ port }) => port));
  });

  test('ends the interval of a killed engine at its last scrape by Prometheus', async () => {
    const [engine] = engines as [Engine, Engine];
    const sample = `timestamp(gwk_instance_connected{instance_id="${engine.instance.id}"})`;
    // Wait until long after a renewal, so that scrape time and lease time differ.
    const { seen } = await until(
      async () => {
        const renewed = await renewedAt(engine);
        const at = (await prometheus.value(sample, (value) => value > 0)) * 1000;
        return at - renewed > 2_000 && { seen: at };
      },
      { what: 'a scrape long after a renewal' },
    );
    process.kill(engine.process.pid, 'SIGKILL');
    const killed = Date.now();
    const lease = await renewedAt(engine);
    const { state, reason, since } = await storedOutage(engine);
    expect({ state, reason }).toEqual({ state: 'disconnected', reason: 'engine_silent' });
    expect(since.getTime()).toBeGreaterThanOrEqual(Math.max(lease, seen - 1_000));
    expect(since.getTime()).toBeLessThanOrEqual(killed + 1_000);
    const [incident] = await outages(engine);
    expect(incident).toMatchObject({ start: since.toISOString(), end: null, state, reason });
    expect(await outages(engines[1]!)).toEqual([]);
  });

  test('ends the interval of a killed engine at its last renewal while Prometheus is down', async () => {
    const engine = engines[1]!;
    await prometheus.kill();
    process.kill(engine.process.pid, 'SIGKILL');
    const { state, reason, since } = await storedOutage(engine);
    expect({ state, reason }).toEqual({ state: 'disconnected', reason: 'engine_silent' });
    expect(since.getTime()).toBe(await renewedAt(engine));
    const log = stage.gateway.workers[0]!.log();
    expect(log.match(/liveness source unavailable/g)).toHaveLength(1);
  });
});

/** The engines of a stage, found by the ports in the log of their operator. */
async function findEngines({ gateway, customer }: Stage): Promise<Engine[]> {
  const instances = (await customer.client.expect<{ data: InstanceOut[] }>(200, 'GET', '/v1/instances')).data;
  return Promise.all(
    gateway.enginePorts().map(async ({ pid, port }) => {
      const { samples } = await Exposition.of(port);
      const shown = samples.find(({ name }) => name === 'gwk_instance_connected')!.labels['instance_id'];
      const instance = instances.find(({ id }) => id === shown)!;
      const process = gateway.engines().find((each) => each.pid === pid)!;
      return { instance, uuid: fromPublicId('instance', instance.id)!, process, port };
    }),
  );
}

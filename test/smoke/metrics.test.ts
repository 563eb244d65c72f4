import type { Metric } from '@gwk/core/metrics/metric';
import { METRICS } from '@gwk/core/metrics/page';
import { Exposition } from '../support/exposition.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { phoneOf } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

/** What each program exports, by the headings of docs/metrics.md. */
const PROGRAMS = {
  api: [
    '`gwk api`',
    '`gwk api` and `gwk worker`: messages',
    '`gwk api` and `gwk worker`: Postgres, Redis and files',
  ],
  worker: [
    '`gwk worker`',
    '`gwk api` and `gwk worker`: messages',
    '`gwk api` and `gwk worker`: Postgres, Redis and files',
  ],
  operator: ['`gwk operator`'],
  engine: ['`gwk engine`'],
} as const;
type ProgramName = keyof typeof PROGRAMS;

describe('metrics of a gateway that works', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('metrics');
  }, 120_000);
  afterAll(() => stage?.close(), 60_000);

  const portOf = (name: ProgramName): number => {
    const { gateway } = stage;
    if (name === 'operator') return gateway.settings.operatorPort;
    if (name === 'api') return Number(new URL(gateway.urls[0]!).port);
    const [log, words] =
      name === 'worker' ? ['worker-0', 'working'] : ['operator-0', 'waiting for the lease'];
    const line = gateway
      .logs()
      .get(log)!
      .find((each) => each.includes(`"${words}"`));
    return (JSON.parse(line!) as { port: number }).port;
  };
  const scrape = (name: ProgramName) => Exposition.of(portOf(name));

  test('a message that is sent, delivered and read is counted at each step, by whichever program saw it', async () => {
    const { customer, instance } = stage;
    const send = { instance_id: instance.id, to: phoneOf(1), type: 'text', text: { body: 'oi' } };
    const headers = { 'idempotency-key': 'once' };
    const { id } = await customer.client.expect<{ id: string }>(202, 'POST', '/v1/messages', {
      body: send,
      headers,
    });
    await customer.client.expect(202, 'POST', '/v1/messages', { body: send, headers });
    await until(async () => (await customer.client.message(id)).status === 'read', { what: 'it is read' });
    const [api, engine] = [await scrape('api'), await scrape('engine')];
    expect(api.value('gwk_messages_accepted_total', { type: 'text' })).toBe(1);
    for (const status of ['sent', 'delivered', 'read'])
      expect(api.value('gwk_message_statuses_total', { status })).toBe(1);
    expect(api.value('gwk_message_sent_seconds_count')).toBe(1);
    expect(api.value('gwk_message_delivered_seconds_count')).toBe(1);
    expect(engine.value('gwk_engine_messages_total', { conclusion: 'sent' })).toBe(1);
    expect(engine.value('gwk_instance_connected', { instance_id: instance.id })).toBe(1);
    expect(engine.value('gwk_engine_connections_total')).toBe(1);
    expect(engine.value('gwk_engine_bell_seconds_count')).toBeGreaterThan(0);
    expect(engine.value('gwk_engine_lanes')).toBe(0);
    expect(engine.value('process_cpu_seconds_total')).toBeGreaterThan(0);
  }, 60_000);

  test('what waits is told by the worker from Postgres, and connections by whoever holds them', async () => {
    const worker = await until(
      async () => {
        const seen = await scrape('worker');
        const looked =
          seen.value('gwk_instances', { state: 'connected' }) === 1 &&
          // It may have looked while the message above waited.
          seen.value('gwk_send_queue_messages', { state: 'waiting' }) === 0;
        return looked && seen;
      },
      { what: 'the worker has looked anew', timeoutMs: 50_000 },
    );
    expect(worker.value('gwk_instances_down')).toBe(0);
    expect(worker.value('gwk_send_queue_age_seconds')).toBe(0);
    expect(worker.value('gwk_send_stalled_age_seconds')).toBe(0);
    expect(worker.value('gwk_webhook_endpoints', { state: 'disabled_by_gwk' })).toBe(0);
    expect(worker.value('gwk_database_size_bytes')).toBeGreaterThan(1_000_000);
    for (const seen of [worker, await scrape('api')]) {
      expect(seen.value('gwk_database_pool_connections', { state: 'idle' })).toBeGreaterThanOrEqual(0);
      expect(seen.value('gwk_database_pool_limit')).toBeGreaterThan(0);
      expect(seen.value('gwk_redis_ping_seconds')).toBeLessThan(Infinity);
      expect(seen.value('gwk_media_store_writable')).toBe(1);
      expect(seen.value('gwk_ready')).toBe(1);
    }
  }, 60_000);

  test.each(Object.keys(PROGRAMS) as ProgramName[])(
    'gwk %s exports what the catalogue says of it, and nothing else',
    async (name) => {
      const described: Metric[] = PROGRAMS[name].flatMap((title) => [...METRICS[title]!]);
      const seen = await scrape(name);
      const exported = [...seen.types].filter(([metric]) => metric.startsWith('gwk_'));
      expect(new Map(exported)).toEqual(new Map(described.map((metric) => [metric.name, metric.type])));
      for (const { name: metric, labelNames } of described) {
        const known: readonly string[] = labelNames;
        expect([...seen.labelsOf(metric)].filter((label) => !known.includes(label))).toEqual([]);
      }
    },
  );
});

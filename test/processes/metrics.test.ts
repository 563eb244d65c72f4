import { Exposition } from '../support/exposition.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

/** Metrics of a gateway without other traffic. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage('metrics');
});
afterAll(() => stage?.close());

const scrape = {
  api: () => Exposition.of(Number(new URL(stage.gateway.urls[0]!).port)),
  worker: () => {
    const line = stage.gateway
      .logs()
      .get('worker-0')!
      .find((each) => each.includes('"working"'));
    return Exposition.of((JSON.parse(line!) as { port: number }).port);
  },
  engine: () => Exposition.of(stage.gateway.enginePorts()[0]!.port),
};

test('counts a message when it is accepted, sent, delivered and read', async () => {
  const { customer, instance } = stage;
  const send = { instance_id: instance.id, to: testPhone(1), type: 'text', text: { body: 'oi' } };
  const headers = { 'idempotency-key': 'once' };
  const { id } = await customer.client.expect<{ id: string }>(202, 'POST', '/v1/messages', {
    body: send,
    headers,
  });
  await customer.client.expect(202, 'POST', '/v1/messages', { body: send, headers });
  await until(async () => (await customer.client.message(id)).status === 'read', {
    what: 'the message is read',
  });
  const [api, engine] = [await scrape.api(), await scrape.engine()];
  expect(api.value('gwk_messages_accepted_total', { type: 'text' })).toBe(1);
  for (const status of ['sent', 'delivered', 'read'])
    expect(api.value('gwk_message_statuses_total', { status })).toBe(1);
  expect(api.value('gwk_message_sent_seconds_count')).toBe(1);
  expect(api.value('gwk_message_delivered_seconds_count')).toBe(1);
  expect(engine.value('gwk_engine_messages_total', { result: 'sent' })).toBe(1);
  expect(engine.value('gwk_instance_connected', { instance_id: instance.id })).toBe(1);
  expect(engine.value('gwk_engine_connections_total')).toBe(1);
  expect(engine.value('gwk_engine_notify_seconds_count')).toBeGreaterThan(0);
  expect(engine.value('gwk_engine_active_conversations')).toBe(0);
  expect(engine.value('process_cpu_seconds_total')).toBeGreaterThan(0);
});

test('the worker exports queues, and each program exports its own connections', async () => {
  const worker = await until(
    async () => {
      const seen = await scrape.worker();
      const isCurrent =
        seen.value('gwk_instances', { state: 'connected' }) === 1 &&
        // The worker may have queried Postgres while the message above was queued.
        seen.value('gwk_send_queue_messages', { state: 'waiting' }) === 0;
      return isCurrent && seen;
    },
    { what: 'the worker has queried Postgres again' },
  );
  expect(worker.value('gwk_instances_down')).toBe(0);
  expect(worker.value('gwk_send_queue_age_seconds')).toBe(0);
  expect(worker.value('gwk_send_stalled_age_seconds')).toBe(0);
  expect(worker.value('gwk_webhook_endpoints', { state: 'disabled_by_gwk' })).toBe(0);
  expect(worker.value('gwk_database_size_bytes')).toBeGreaterThan(1_000_000);
  for (const seen of [worker, await scrape.api()]) {
    expect(seen.value('gwk_database_pool_connections', { state: 'idle' })).toBeGreaterThanOrEqual(0);
    expect(seen.value('gwk_database_pool_limit')).toBeGreaterThan(0);
    expect(seen.value('gwk_redis_ping_seconds')).toBeLessThan(Infinity);
    expect(seen.value('gwk_media_store_writable')).toBe(1);
    expect(seen.value('gwk_ready')).toBe(1);
  }
});

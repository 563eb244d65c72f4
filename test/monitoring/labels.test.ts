import { Metrics } from '@gwk/api/public-api/metrics';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { messageMetrics } from '@gwk/api/platform/metrics/messages';
import { databaseSizeReader, readBacklog } from '@gwk/api/jobs/backlog';
import { WorkerMetrics } from '@gwk/api/jobs/metrics';
import { FAILURE_CODES, INSTANCE_STATES } from '@gwk/core/states';
import { classifyDisconnect } from '@gwk/engine-pod/driver/baileys/connection/disconnects';
import { EngineMetrics } from '@gwk/engine-pod/metrics';
import { createOperatorMetrics, type MetricsSources } from '@gwk/operator/metrics';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { Exposition } from '../support/exposition.js';
import { readRules } from './rules.js';

/** What rules ask of labels is said by the programs: a state that is renamed would silence an alert for ever. */

let database: TestDatabase;
let db: Database;
let samples: Exposition['samples'];

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 1, program: 'labels' });
  const texts = [await ofWorkerAndApi(), await ofOperator(), await ofEngine()];
  samples = texts.flatMap((text) => new Exposition(text).samples);
});
afterAll(async () => {
  await db?.$disconnect();
  await database?.drop();
});

async function ofWorkerAndApi(): Promise<string> {
  const keeping = { messageDays: 90, eventDays: 90, deliveryDays: 90, contentHours: 24 };
  const worker = new WorkerMetrics({
    inFlight: () => 0,
    backlog: () => readBacklog(db, keeping),
    databaseBytes: databaseSizeReader(db),
  });
  const { registry } = worker;
  for (const ok of [true, false]) worker.passed('release', ok, 1);
  worker.signsFrom('prometheus');
  messageMetrics.register(registry);
  const at = new Date();
  const times = { createdAt: at, scheduledFor: null, sentAt: null, deliveredAt: null, readAt: null };
  const waiting = { ...times, failedAt: null, errorCode: null };
  messageMetrics.advanced(waiting, { ...waiting, sentAt: at });
  for (const errorCode of FAILURE_CODES)
    messageMetrics.advanced(waiting, { ...waiting, failedAt: at, errorCode });
  const ofWorker = await registry.metrics();
  // Both have the metrics of the process.
  registry.clear();
  const api = new Metrics(registry, () => 0);
  for (const status of [202, 500, 503]) api.observe({} as Parameters<Metrics['observe']>[0], status, 1);
  return ofWorker + (await registry.metrics());
}

async function ofOperator(): Promise<string> {
  const cluster = { keys: () => [] };
  const controller = { queue: { depth: 0 }, rollout: { moving: 0, waiting: 0 }, leaseTimeoutMs: 0, crashLoops: 0 };
  return createOperatorMetrics({ cluster, controller, invalidManifests: () => 0 } as unknown as MetricsSources).metrics();
}

async function ofEngine(): Promise<string> {
  const metrics = new EngineMetrics('ins_a', {
    state: () => 'connected',
    held: () => 0,
    activeConversations: () => 0,
    leaseMsLeft: () => 0,
    redisUp: () => true,
  });
  for (const [code, text] of [
    [405, ''],
    [409, ''],
    [400, 'the certificate is of nobody'],
  ] as const) {
    const closed = classifyDisconnect({ code, text, attrs: {} }, Date.now());
    if (closed.kind !== 'dropped') throw new Error(`${code} is ${closed.kind}`);
    metrics.stateChanged({ state: 'disconnected', reason: closed.reason } as Parameters<
      typeof metrics.stateChanged
    >[0]);
  }
  return metrics.text();
}

/** Of other programs, and of Prometheus itself. */
const NOT_OURS = ['namespace', 'persistentvolumeclaim', 'alertname', 'alertstate'];

const asked = readRules().flatMap(({ alert, expr }) =>
  [...expr.matchAll(/\b(\w+)\{([^}]*)\}/g)].flatMap(([, series, matchers]) =>
    [...matchers!.matchAll(/(\w+)=~?"([^"]*)"/g)]
      .filter(([, label]) => !NOT_OURS.includes(label!))
      .flatMap(([, label, values]) =>
        values!.split('|').map((value) => ({ alert, series: series!, label: label!, value })),
      ),
  ),
);

test('rules ask for labels', () => {
  expect(asked.length).toBeGreaterThan(20);
});

test.each(asked)('$alert: $series is exported with $label="$value"', ({ series, label, value }) => {
  const values = samples.filter(({ name }) => name === series).map(({ labels }) => labels[label] ?? '');
  expect(values).toContainEqual(expect.stringMatching(new RegExp(`^(?:${value})$`)));
});

test('a state, a destination and a code that are no more are noticed', () => {
  const values = (series: string) =>
    samples.filter(({ name }) => name === series).map(({ labels }) => labels);
  expect(values('gwk_instance_state').map(({ state }) => state)).toEqual(INSTANCE_STATES);
  expect(values('gwk_webhook_queue_age_seconds').map(({ endpoint }) => endpoint)).not.toContain('well');
  expect(values('gwk_message_statuses_total').map(({ code }) => code)).not.toContain('lost');
});

import { openTransfers } from '@gwk/api/media/transfers/media-transfers';
import { Metrics } from '@gwk/api/public-api/metrics';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { messageMetrics } from '@gwk/api/platform/metrics/messages';
import { postgresReaders, readBacklog } from '@gwk/api/jobs/backlog';
import { WorkerMetrics } from '@gwk/api/jobs/metrics';
import { processClock } from '@gwk/core/clock';
import { METRICS } from '@gwk/core/metrics/metrics';
import { FAILURE_CODES, INSTANCE_STATES } from '@gwk/core/states';
import { classifyDisconnect } from '@gwk/engine-pod/driver/baileys/connection/disconnects';
import { EngineMetrics } from '@gwk/engine-pod/metrics';
import type { Cluster } from '@gwk/operator/cluster/cluster';
import type { Controller } from '@gwk/operator/controller/controller';
import { createOperatorMetrics } from '@gwk/operator/metrics';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { Exposition } from '../support/exposition.js';
import { readRules } from './rules.js';

/** Compares label values in the rules with those that programs export: a renamed state would disable an alert silently. */

let database: TestDatabase;
let db: Database;
let samples: Exposition['samples'];

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 1, program: 'labels' });
  const texts = [await exportWorkerAndApi(), await exportOperator(), await exportEngine()];
  samples = texts.flatMap((text) => new Exposition(text).samples);
});
afterAll(async () => {
  await db?.$disconnect();
  await database?.drop();
});

async function exportWorkerAndApi(): Promise<string> {
  const keeping = { messageDays: 90, eventDays: 90, deliveryDays: 90, contentHours: 24 };
  const worker = new WorkerMetrics({
    inFlight: () => 0,
    fullAccounts: () =>
      Promise.resolve(
        (['media_bytes', 'media_files', 'event_bytes'] as const).map((resource) => ({
          account: 'acme',
          resource,
          ratio: 1,
        })),
      ),
    ...postgresReaders(db, keeping),
    backlog: () => readBacklog(db, keeping),
  });
  const { registry } = worker;
  for (const ok of [true, false]) worker.passed('release', ok, 1);
  worker.setLivenessSource('prometheus');
  messageMetrics.register(registry);
  const at = new Date();
  const times = { createdAt: at, scheduledFor: null, sentAt: null, deliveredAt: null, readAt: null };
  const waiting = { ...times, failedAt: null, errorCode: null };
  messageMetrics.advanced(waiting, { ...waiting, sentAt: at });
  for (const errorCode of FAILURE_CODES)
    messageMetrics.advanced(waiting, { ...waiting, failedAt: at, errorCode });
  const workerText = await registry.metrics();
  // Worker and API both register the process metrics.
  registry.clear();
  const api = new Metrics(registry, () => 0);
  openTransfers({ maxDownloads: 100, maxUploads: 100, mediaMaxMb: 100 }, processClock, registry);
  for (const status of [202, 500, 503]) api.observe({} as Parameters<Metrics['observe']>[0], status, 1);
  return workerText + (await registry.metrics());
}

async function exportOperator(): Promise<string> {
  const cluster = { keys: () => [], countInvalid: () => 0 };
  const controller = {
    queue: { depth: 0 },
    rollout: { moving: 0, waiting: 0 },
    observer: { unresponsiveMs: 0 },
    crashLoops: 0,
  };
  return createOperatorMetrics(cluster as unknown as Cluster, controller as unknown as Controller).metrics();
}

async function exportEngine(): Promise<string> {
  const metrics = new EngineMetrics('ins_a', {
    state: () => 'connected',
    held: () => 0,
    activeConversations: () => 0,
    leaseMsLeft: () => 0,
    redisUp: () => true,
    clientVersion: () => null,
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

/** Labels that other programs and Prometheus set. */
const FOREIGN = ['namespace', 'persistentvolumeclaim', 'alertname', 'alertstate'];

/** Labels that Prometheus and a PodMonitor or ServiceMonitor set on every scraped series. */
const TARGET_LABELS = ['job', 'instance', 'namespace', 'pod', 'container', 'endpoint', 'service', 'node'];

const used = readRules().flatMap(({ alert, expr }) =>
  [...expr.matchAll(/\b(\w+)\{([^}]*)\}/g)].flatMap(([, series, matchers]) =>
    [...matchers!.matchAll(/(\w+)=~?"([^"]*)"/g)]
      .filter(([, label]) => !FOREIGN.includes(label!))
      .flatMap(([, label, values]) =>
        values!.split('|').map((value) => ({ alert, series: series!, label: label!, value })),
      ),
  ),
);

test('the rules use label values', () => {
  expect(used.length).toBeGreaterThan(20);
});

test.each(used)('$alert: programs export $series with $label="$value"', ({ series, label, value }) => {
  const values = samples.filter(({ name }) => name === series).map(({ labels }) => labels[label] ?? '');
  expect(values).toContainEqual(expect.stringMatching(new RegExp(`^(?:${value})$`)));
});

test.each(Object.values(METRICS).flat())(
  '$name has no label that Prometheus sets on targets',
  ({ labelNames }) => {
    // A label of such a name arrives as exported_<name>, and rules that select it match nothing.
    for (const label of TARGET_LABELS) expect(labelNames).not.toContain(label);
  },
);

test('notices values that no program exports', () => {
  const values = (series: string) =>
    samples.filter(({ name }) => name === series).map(({ labels }) => labels);
  expect(values('gwk_instance_state').map(({ state }) => state)).toEqual(INSTANCE_STATES);
  expect(values('gwk_webhook_queue_age_seconds').map(({ endpoint_state }) => endpoint_state)).not.toContain(
    'unknown',
  );
  expect(values('gwk_message_statuses_total').map(({ code }) => code)).not.toContain('lost');
});

import { API_METRICS } from './api.js';
import { ENGINE_METRICS } from './engine.js';
import { MESSAGE_METRICS } from './messages.js';
import type { Metric } from './metric.js';
import { KUBERNETES_METRICS, OPERATOR_METRICS } from './operator.js';
import { STORE_METRICS } from './stores.js';
import { WORKER_METRICS } from './worker.js';

/** Every metric of every program, by what exports it. */
export const METRICS: Readonly<Record<string, readonly Metric[]>> = {
  '`gwk api`': Object.values(API_METRICS),
  '`gwk worker`': Object.values(WORKER_METRICS),
  '`gwk api` and `gwk worker`: messages': Object.values(MESSAGE_METRICS),
  '`gwk api` and `gwk worker`: Postgres, Redis and files': Object.values(STORE_METRICS),
  '`gwk engine`': Object.values(ENGINE_METRICS),
  '`gwk operator`': Object.values(OPERATOR_METRICS),
  '`gwk operator` on Kubernetes': Object.values(KUBERNETES_METRICS),
};

/** The page docs/metrics.md, made from the catalogue. */
export function renderMetricsPage(): string {
  const tables = Object.entries(METRICS).map(([title, metrics]) => {
    const rows = metrics.map(
      ({ name, type, labelNames, help }) =>
        `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    );
    return `## ${title}\n\n| Name | Type | Labels | What it says |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `${INTRODUCTION}\n${tables.join('\n')}`;
}

const INTRODUCTION = `# Metrics

Made from \`core/src/metrics\` by \`make docs\`; do not edit.

Every program serves \`GET /metrics\` in the text format of Prometheus: \`gwk api\` on a port of its own (\`GWK_API_METRICS_PORT\`, 8085), the others on the port of their health checks. The default metrics of Node.js (\`process_*\`, \`nodejs_*\`) stand beside those below; an engine, which is to stay small, has \`process_resident_memory_bytes\`, \`process_cpu_seconds_total\` and \`process_start_time_seconds\` alone. No label takes a value from a request, a message or a contact.

Series of a number carry its \`instance_id\`, one value for each Instance; \`GWK_ENGINE_METRICS_INSTANCE=off\` leaves it out. What \`gwk worker\` reads from Postgres (queues, instances, destinations, retention, size) is the same in every replica: take the maximum, not the sum. It is at most ten seconds old, a minute where Postgres is slow, and NaN while Postgres does not answer.

Where \`PROMETHEUS_URL\` is set (\`monitoring.prometheus.url\` of the chart), \`gwk worker\` reads \`gwk_instance_connected\` of engines that fell silent from it, for availability; series without \`instance_id\` are of no use to it. Traces are another page: [tracing.md](tracing.md).
`;

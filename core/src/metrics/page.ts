import { API_METRICS } from './api.js';
import { ENGINE_METRICS } from './engine.js';
import { MESSAGE_METRICS } from './messages.js';
import type { Metric } from './metric.js';
import { KUBERNETES_METRICS, OPERATOR_METRICS } from './operator.js';
import { STORE_METRICS } from './stores.js';
import { WORKER_METRICS } from './worker.js';

/** All metrics, by the programs that export them. */
export const METRICS: Readonly<Record<string, readonly Metric[]>> = {
  '`gwk api`': Object.values(API_METRICS),
  '`gwk worker`': Object.values(WORKER_METRICS),
  '`gwk api` and `gwk worker`: messages': Object.values(MESSAGE_METRICS),
  '`gwk api` and `gwk worker`: Postgres, Redis and files': Object.values(STORE_METRICS),
  '`gwk engine`': Object.values(ENGINE_METRICS),
  '`gwk operator`': Object.values(OPERATOR_METRICS),
  '`gwk operator` on Kubernetes': Object.values(KUBERNETES_METRICS),
};

/** Renders docs/metrics.md. */
export function renderMetricsPage(): string {
  const tables = Object.entries(METRICS).map(([title, metrics]) => {
    const rows = metrics.map(
      ({ name, type, labelNames, help }) =>
        `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    );
    return `## ${title}\n\n| Name | Type | Labels | Description |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `${INTRODUCTION}\n${tables.join('\n')}`;
}

const INTRODUCTION = `# Metrics

Generated from \`core/src/metrics\` by \`make docs\`; do not edit.

Every program serves \`GET /metrics\` in the Prometheus text format. \`gwk api\` uses a separate port (\`GWK_API_METRICS_PORT\`, 8085), the others the port of their health checks. Besides the metrics below they export the Node.js defaults (\`process_*\`, \`nodejs_*\`). To save memory, an engine exports only \`process_resident_memory_bytes\`, \`process_cpu_seconds_total\` and \`process_start_time_seconds\`. No label takes its value from a request, a message or a contact.

The series of an instance carry its \`instance_id\`; \`GWK_ENGINE_METRICS_INSTANCE=off\` removes the label. \`gwk worker\` reads queues, instances, endpoints, retention and size from Postgres, so every replica reports the same values: aggregate them with \`max\`, not \`sum\`. The values are at most 10 s old, or 1 minute if Postgres is slow. They are NaN while Postgres does not answer.

If \`PROMETHEUS_URL\` is set (\`monitoring.prometheus.url\` in the chart), \`gwk worker\` reads \`gwk_instance_connected\` of unresponsive engines from Prometheus to compute availability. It needs the label \`instance_id\`. For traces see [tracing.md](tracing.md).
`;

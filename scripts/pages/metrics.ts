import { METRICS } from '@gwk/core/metrics/metrics';
import { renderTable } from './table.ts';

/** Renders the tables of docs/metrics.md. */
export function renderMetrics(): string {
  const tables = Object.entries(METRICS).map(([title, metrics]) => {
    const rows = metrics.map(({ name, type, labelNames, help }) => [
      `\`${name}\``,
      type,
      labelNames.map((label) => `\`${label}\``).join(', '),
      help,
    ]);
    return `## ${title}\n\n${renderTable(['Name', 'Type', 'Labels', 'Description'], rows)}`;
  });
  return tables.join('\n');
}

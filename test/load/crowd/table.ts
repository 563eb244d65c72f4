import type { CrowdState } from '../../support/gateway/crowd-process.js';
import type { Service } from './monitor.js';

const COLUMNS = [
  'crowd',
  'opened',
  'refused',
  'standing',
  'closed after (median, max)',
  'answers',
  'API MB before, peak',
  'sends',
  'p50 ms',
  'p99 ms',
  'restarts',
];

export function printCrowds(rows: readonly [name: string, state: CrowdState, service: Service][]): void {
  const table = [COLUMNS, ...rows.map(([name, state, service]) => formatRow(name, state, service))];
  const widths = COLUMNS.map((_, place) => Math.max(...table.map((row) => row[place]!.length)));
  const line = (row: string[]): string => row.map((cell, place) => cell.padEnd(widths[place]!)).join('  ');
  process.stdout.write(`${table.map(line).join('\n')}\n`);
}

function formatRow(name: string, state: CrowdState, service: Service): string[] {
  const { closedAfter, statuses } = state;
  const seconds = (value: number): string => `${value.toFixed(1)} s`;
  return [
    name,
    String(state.opened),
    String(state.refused),
    String(state.standing),
    closedAfter ? `${seconds(closedAfter.p50)}, ${seconds(closedAfter.max)}` : '-',
    Object.entries(statuses)
      .map(([status, count]) => `${count} x ${status}`)
      .join(', ') || '-',
    `${service.before}, ${service.peak}`,
    String(service.sends),
    service.p50.toFixed(0),
    service.p99.toFixed(0),
    String(service.restarts.length),
  ];
}

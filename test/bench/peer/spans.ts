import type { Collector, CollectedSpan } from '../../support/collector.js';
import type { Environment } from '../../support/program.js';
import { Exposition } from '../../support/exposition.js';
import { median, percentile } from '../shared/statistics.js';
import { Table } from '../shared/table.js';

/** Settings of programs that export all their spans at short intervals. */
export const tracingTo = (collector: Collector): Environment => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_BSP_SCHEDULE_DELAY: '200',
  OTEL_BSP_MAX_QUEUE_SIZE: '100000',
});

/** Names of the spans of a message (docs/tracing.md), in their order. */
const ORDER = [
  'POST /v1/messages',
  'accept',
  'notify',
  'notified',
  'claim',
  'POST /engine/claims',
  'queued',
  'send',
  'build',
  'store',
  'encrypt',
  'acknowledge',
  'outcome',
];

/** Prints durations of the spans that began in this time, and when they begin after the request. */
export function printSpans(title: string, spans: readonly CollectedSpan[]): void {
  const began = new Map(
    spans.filter(({ name }) => name === ORDER[0]).map(({ traceId, start }) => [traceId, start]),
  );
  const table = new Table(title, ['begins', 'p50 ms', 'p99 ms', 'spans']);
  for (const name of ORDER) {
    const named = spans.filter((span) => span.name === name && began.has(span.traceId));
    if (named.length === 0) continue;
    const begins = named.map(({ traceId, start }) => start - began.get(traceId)!);
    const lasted = named.map(({ start, end }) => end - start);
    table.row(name, [
      median(begins).toFixed(1),
      percentile(lasted, 0.5).toFixed(1),
      percentile(lasted, 0.99).toFixed(1),
      named.length,
    ]);
  }
  table.print();
}

export interface Calls {
  count: number;
  seconds: number;
}

/** Calls of the internal API so far, and the time in which it answered them, by route. */
export async function readCalls(apiUrl: string): Promise<Map<string, Calls>> {
  const { samples } = await Exposition.of(Number(new URL(apiUrl).port));
  const calls = new Map<string, Calls>();
  for (const { name, labels, value } of samples) {
    const what = /^gwk_internal_call_duration_seconds_(count|sum)$/.exec(name)?.[1];
    const route = labels['route'] ?? '';
    if (what === undefined || !route.startsWith('/engine/')) continue;
    const call = calls.get(route) ?? { count: 0, seconds: 0 };
    calls.set(route, call);
    if (what === 'count') call.count += value;
    else call.seconds += value;
  }
  return calls;
}

export function printCalls(
  title: string,
  [before, after]: [Map<string, Calls>, Map<string, Calls>],
  messages: number,
): void {
  const table = new Table(title, ['calls a text', 'mean ms']);
  for (const [route, { count, seconds }] of after) {
    const made = count - (before.get(route)?.count ?? 0);
    if (made === 0) continue;
    const took = seconds - (before.get(route)?.seconds ?? 0);
    table.row(route, [(made / messages).toFixed(2), ((1000 * took) / made).toFixed(1)]);
  }
  table.print();
}

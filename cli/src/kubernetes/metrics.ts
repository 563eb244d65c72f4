import { ENGINE_METRICS } from '@gwk/core/metrics/engine';
import type { EngineMetrics } from './picture.js';

/** Reads the metrics of an engine in Prometheus' text format. Pure. */
export function parseMetrics(text: string): EngineMetrics {
  const read = ({ name }: { name: string }): number => {
    const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
    return Number(line?.slice(line.lastIndexOf(' ') + 1) ?? 0);
  };
  const { lease, held, activeConversations } = ENGINE_METRICS;
  return { leaseSeconds: read(lease), claimed: read(held), conversations: read(activeConversations) };
}

import type { Metric } from '@gwk/core/metrics/metric';
import { withCollect, withLabelCollect } from '@gwk/core/metrics/collect';
import { OPERATOR_METRICS } from '@gwk/core/metrics/operator';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Cluster, Pod } from './cluster/cluster.js';
import type { Controller } from './controller/controller.js';

const PHASES: Pod['phase'][] = ['absent', 'starting', 'running', 'ending', 'ended', 'unknown'];

/** Registers a gauge that `read` computes at each scrape. */
export function addGauge(registry: Registry, metric: Metric<never>, read: () => number): void {
  new Gauge({ ...withCollect(metric, read), registers: [registry] });
}

/** Registers the operator's metrics. Gauges are computed at each scrape, so they cost nothing between scrapes. */
export function createOperatorMetrics(cluster: Cluster, controller: Controller): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addGauge(registry, OPERATOR_METRICS.instances, () => cluster.keys().length);
  addGauge(registry, OPERATOR_METRICS.queueDepth, () => controller.queue.depth);
  addGauge(registry, OPERATOR_METRICS.apiUnresponsive, () => controller.apiUnresponsiveMs / 1000);
  addGauge(registry, OPERATOR_METRICS.invalidManifests, () => cluster.countInvalid());
  addGauge(registry, OPERATOR_METRICS.crashLoops, () => controller.crashLoops);
  upgrades(controller, registry);
  podsByPhase(cluster, registry);
  conditions(cluster, registry);
  const registers = [registry];
  const passes = new Counter({ ...OPERATOR_METRICS.reconciles, registers });
  const ends = new Counter({ ...OPERATOR_METRICS.engineExits, registers });
  // Create both series now, so that `increase()` sees the first exit.
  for (const asked of ['true', 'false']) ends.inc({ requested: asked }, 0);
  controller.onReconcile = (result) => passes.inc({ result });
  controller.onEngineExit = (asked) => ends.inc({ requested: String(asked) });
  return registry;
}

function upgrades({ rollout }: Controller, registry: Registry): void {
  const amounts = () => ({ moving: rollout.moving, waiting: rollout.waiting });
  new Gauge({ ...withLabelCollect(OPERATOR_METRICS.rollout, amounts), registers: [registry] });
}

function podsByPhase(cluster: Cluster, registry: Registry): void {
  const counted = () => {
    const counts = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
    for (const key of cluster.keys()) {
      const { phase } = cluster.pods.find(key);
      counts.set(phase, counts.get(phase)! + 1);
    }
    return Object.fromEntries(counts);
  };
  new Gauge({ ...withLabelCollect(OPERATOR_METRICS.pods, counted), registers: [registry] });
}

function conditions(cluster: Cluster, registry: Registry): void {
  new Gauge({
    ...OPERATOR_METRICS.conditions,
    registers: [registry],
    collect() {
      this.reset();
      for (const key of cluster.keys()) {
        for (const { type, status } of cluster.resource(key)?.status?.conditions ?? [])
          this.inc({ type, status });
      }
    },
  });
}

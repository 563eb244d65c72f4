import type { Metric } from '@gwk/core/metrics/metric';
import { withCollect, type Reading } from '@gwk/core/metrics/collect';
import { OPERATOR_METRICS } from '@gwk/core/metrics/operator';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Cluster, Pod } from './cluster/cluster.js';
import type { Controller } from './controller/controller.js';
import { CAUSES } from './controller/queue.js';

const PHASES: Pod['phase'][] = ['absent', 'starting', 'running', 'ending', 'ended', 'unknown'];

/** Registers a gauge that `read` computes at each scrape. */
export function addGauge<Label extends string>(
  registry: Registry,
  metric: Metric<Label>,
  read: () => Reading,
): void {
  new Gauge<Label>({ ...withCollect(metric, read), registers: [registry] });
}

/** Registers the operator's metrics. Gauges are computed at each scrape, so they cost nothing between scrapes. */
export function createOperatorMetrics(cluster: Cluster, controller: Controller): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addGauge(registry, OPERATOR_METRICS.instances, () => cluster.keys().length);
  addGauge(registry, OPERATOR_METRICS.queueDepth, () => controller.queue.depth);
  addGauge(registry, OPERATOR_METRICS.apiUnresponsive, () => controller.observer.unresponsiveMs / 1000);
  addGauge(registry, OPERATOR_METRICS.invalidManifests, () => cluster.countInvalid());
  addGauge(registry, OPERATOR_METRICS.crashLoops, () => controller.crashLoops);
  const { rollout } = controller;
  addGauge(registry, OPERATOR_METRICS.rollout, () => ({ moving: rollout.moving, waiting: rollout.waiting }));
  addGauge(registry, OPERATOR_METRICS.pods, () => countPhases(cluster));
  conditions(cluster, registry);
  const registers = [registry];
  const passes = new Counter({ ...OPERATOR_METRICS.reconciles, registers });
  const ends = new Counter({ ...OPERATOR_METRICS.engineExits, registers });
  // Create all series now, so that `increase()` sees the first exit.
  for (const cause of CAUSES) passes.inc({ result: 'done', cause }, 0);
  for (const asked of ['true', 'false']) ends.inc({ requested: asked }, 0);
  controller.onReconcile = (result, cause) => passes.inc({ result, cause });
  controller.onEngineExit = (asked) => ends.inc({ requested: String(asked) });
  return registry;
}

function countPhases(cluster: Cluster): Record<string, number> {
  const counts = Object.fromEntries(PHASES.map((phase) => [phase, 0]));
  for (const key of cluster.keys()) counts[cluster.pods.find(key).phase]! += 1;
  return counts;
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

import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Cluster, Pod } from './cluster/cluster.js';
import type { Controller } from './controller/controller.js';

const PHASES: Pod['phase'][] = ['absent', 'starting', 'running', 'ending', 'ended', 'unknown'];

export interface Watched {
  cluster: Cluster;
  controller: Controller;
  /** Manifests or resources of which nothing is used. */
  unreadable: () => number;
}

/** Read when asked for; counting costs nothing while nobody asks. */
export function operatorMetrics({ cluster, controller, unreadable }: Watched): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  gauge('gwk_operator_instances', 'Instance resources known.', () => cluster.keys().length);
  gauge('gwk_operator_queue_depth', 'Instances waiting for a pass or in one.', () => controller.queue.depth);
  gauge(
    'gwk_operator_api_silent_seconds',
    'Since the API last answered an observation.',
    () => controller.silentMs / 1000,
  );
  gauge('gwk_operator_broken_manifests', 'Manifests of which nothing is used.', unreadable);
  upgrades(controller, registry);
  podsByPhase(cluster, registry);
  conditions(cluster, registry);
  const passes = new Counter({
    name: 'gwk_operator_passes_total',
    help: 'Passes over one instance, by result.',
    labelNames: ['result'],
    registers: [registry],
  });
  const ends = new Counter({
    name: 'gwk_operator_engine_ends_total',
    help: 'Engines that ended, by whether they were asked to.',
    labelNames: ['asked'],
    registers: [registry],
  });
  controller.onPass = (result) => passes.inc({ result });
  controller.onEnd = (asked) => ends.inc({ asked: String(asked) });
  return registry;
}

function upgrades({ rollout }: Controller, registry: Registry): void {
  new Gauge({
    name: 'gwk_operator_rollout',
    help: 'Instances on their way to the present version of the engine, and those that wait for their turn.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'moving' }, rollout.moving);
      this.set({ state: 'waiting' }, rollout.waiting);
    },
  });
}

function podsByPhase(cluster: Cluster, registry: Registry): void {
  new Gauge({
    name: 'gwk_operator_pods',
    help: 'Instances by the phase of their pod.',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      const counts = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
      for (const key of cluster.keys()) {
        const { phase } = cluster.pod(key);
        counts.set(phase, counts.get(phase)! + 1);
      }
      for (const [phase, count] of counts) this.set({ phase }, count);
    },
  });
}

function conditions(cluster: Cluster, registry: Registry): void {
  new Gauge({
    name: 'gwk_operator_conditions',
    help: 'Instances by condition and its status.',
    labelNames: ['type', 'status'],
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

import type { Metric } from '@gwk/core/metrics/metric';
import { KUBERNETES_METRICS } from '@gwk/core/metrics/operator';
import { Counter, type Registry } from 'prom-client';
import { addGauge } from '../../metrics.js';
import type { KubernetesCluster } from './kubernetes.js';
import type { LeaderElector } from './leader-election.js';

interface KubernetesMetrics {
  count: (verb: string, resource: string, code: number) => void;
  register: (registry: Registry, informer: { cluster: KubernetesCluster; leader: LeaderElector }) => void;
}

/** Metrics of the connection to the Kubernetes API. */
export function createKubernetesMetrics(): KubernetesMetrics {
  const calls = new Counter({ ...KUBERNETES_METRICS.requests, registers: [] });
  return {
    count: (verb, resource, code) => calls.inc({ verb, resource, code: String(code) }),
    register(registry, { cluster, leader }) {
      registry.registerMetric(calls);
      const { watches } = cluster;
      addGauge(registry, KUBERNETES_METRICS.leader, () => Number(leader.leading));
      addGauge(registry, KUBERNETES_METRICS.watchAge, () =>
        leader.leading ? Math.max(...watches.map(({ ageMs }) => ageMs)) / 1000 : 0,
      );
      addCounter(registry, KUBERNETES_METRICS.watchFailures, () => sum(watches, 'failures'));
      addCounter(registry, KUBERNETES_METRICS.watchLists, () => sum(watches, 'relists'));
    },
  };
}

/** Registers a counter whose total `read` returns. */
function addCounter(registry: Registry, metric: Metric<never>, read: () => number): void {
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

const sum = (watches: KubernetesCluster['watches'], of: 'failures' | 'relists'): number =>
  watches.reduce((total, watch) => total + watch[of], 0);

import type { Metric } from '@gwk/core/metrics/metric';
import { KUBERNETES_METRICS } from '@gwk/core/metrics/operator';
import { Counter, type Registry } from 'prom-client';
import { addGauge } from '../../metrics.js';
import type { KubernetesCluster } from './kubernetes.js';
import type { LeaderElector } from './leader-election.js';

export interface KubernetesMetrics {
  count: (verb: string, resource: string, code: number) => void;
  register: (registry: Registry, watched: { cluster: KubernetesCluster; leader: LeaderElector }) => void;
}

/** Of what is between the operator and the Kubernetes API. */
export function kubernetesMetrics(): KubernetesMetrics {
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
      observedTotal(registry, KUBERNETES_METRICS.watchFailures, () => sum(watches, 'breaks'));
      observedTotal(registry, KUBERNETES_METRICS.watchLists, () => sum(watches, 'relists'));
    },
  };
}

/** What is counted elsewhere, since the start of the process. */
function observedTotal(registry: Registry, metric: Metric<never>, read: () => number): void {
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

const sum = (watches: KubernetesCluster['watches'], of: 'breaks' | 'relists'): number =>
  watches.reduce((total, watch) => total + watch[of], 0);

import { Counter, Gauge, type Registry } from 'prom-client';
import type { KubernetesCluster } from './kubernetes.js';
import type { Leader } from './leader.js';

export interface KubernetesMetrics {
  count: (verb: string, resource: string, code: number) => void;
  register: (registry: Registry, watched: { cluster: KubernetesCluster; leader: Leader }) => void;
}

/** Of what is between the operator and the Kubernetes API. */
export function kubernetesMetrics(): KubernetesMetrics {
  const calls = new Counter({
    name: 'gwk_operator_kubernetes_requests_total',
    help: 'Calls of the Kubernetes API; code 0 is one without an answer.',
    labelNames: ['verb', 'resource', 'code'],
    registers: [],
  });
  return {
    count: (verb, resource, code) => calls.inc({ verb, resource, code: String(code) }),
    register(registry, { cluster, leader }) {
      registry.registerMetric(calls);
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({
          name,
          help,
          registers: [registry],
          collect() {
            this.set(read());
          },
        });
      const { watches } = cluster;
      const sum = (of: 'breaks' | 'relists') => () => watches.reduce((total, watch) => total + watch[of], 0);
      gauge('gwk_operator_leader', '1 where this operator leads.', () => Number(leader.leading));
      gauge('gwk_operator_watch_age_seconds', 'Since the quietest watch last said anything.', () =>
        leader.leading ? Math.max(...watches.map(({ ageMs }) => ageMs)) / 1000 : 0,
      );
      gauge('gwk_operator_watch_breaks', 'Watches that broke since the start.', sum('breaks'));
      gauge('gwk_operator_watch_lists', 'Lists since the start.', sum('relists'));
    },
  };
}

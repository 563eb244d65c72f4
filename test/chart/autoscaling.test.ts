import { API_METRICS } from '@gwk/core/metrics/api';
import { WORKER_METRICS } from '@gwk/core/metrics/worker';
import {
  find,
  helm,
  CHART,
  MINIMAL_VALUES,
  READ_BY_PROMETHEUS,
  render,
  templateText,
  withValues,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';

interface Metric {
  type: string;
  external?: { metric: { name: string; selector: { matchLabels: object } }; target: object };
  pods?: { metric: { name: string }; target: object };
}
interface Trigger {
  type: string;
  metricType: string;
  metadata: Record<string, string>;
  authenticationRef?: object;
}
const metricsOf = (values: object, name: string) =>
  (find(render(values), 'HorizontalPodAutoscaler', name)['spec'] as { metrics: Metric[] }).metrics;
const triggersOf = (values: object, name: string) =>
  (find(render(values), 'ScaledObject', name)['spec'] as { triggers: Trigger[] }).triggers;
const scaled = (program: string, fields: object = {}, more: object = {}) => ({
  ...MINIMAL_VALUES,
  ...more,
  [program]: { autoscaling: { enabled: true, ...fields } },
});
const PROMETHEUS = { autoscaling: { prometheusUrl: 'http://prometheus.monitoring.svc:9090' } };
const known = [...Object.values(API_METRICS), ...Object.values(WORKER_METRICS)].map(({ name }) => name);

describeChart('autoscaling', () => {
  test('is off by default', () => {
    const kinds = render(MINIMAL_VALUES).map(({ kind }) => kind);
    expect(kinds).not.toContain('HorizontalPodAutoscaler');
    expect(kinds).not.toContain('ScaledObject');
  });

  test('of workers follows the age of their queues', () => {
    const values = scaled('worker', { targetWebhookAgeSeconds: 5 });
    expect(metricsOf(values, 'gwk-worker').map(({ external }) => external)).toEqual([
      {
        metric: {
          name: 'gwk_webhook_queue_age_seconds',
          selector: { matchLabels: { namespace: 'messages', endpoint_state: 'healthy' } },
        },
        target: { type: 'Value', value: '5' },
      },
      {
        metric: { name: 'gwk_preparation_age_seconds', selector: { matchLabels: { namespace: 'messages' } } },
        target: { type: 'Value', value: '20' },
      },
    ]);
    expect(find(render(values), 'Deployment', 'gwk-worker')['spec']).not.toHaveProperty('replicas');
    expect(find(render(values), 'PodDisruptionBudget', 'gwk-worker')).toBeDefined();
  });

  test('of the API follows CPU usage, and requests if wanted', () => {
    expect(metricsOf(scaled('api'), 'gwk-api').map(({ type }) => type)).toEqual(['Resource']);
    expect(metricsOf(scaled('api', { targetRequestsPerSecond: 150 }), 'gwk-api')[1]).toEqual({
      type: 'Pods',
      pods: {
        metric: { name: 'gwk_http_requests_per_second' },
        target: { type: 'AverageValue', averageValue: '150' },
      },
    });
  });

  test('by KEDA queries metrics that the programs have', () => {
    const keda = { kind: 'keda', targetRequestsPerSecond: 150 };
    const triggers = [
      ...triggersOf(scaled('worker', { kind: 'keda' }, PROMETHEUS), 'gwk-worker'),
      ...triggersOf(scaled('api', keda, PROMETHEUS), 'gwk-api'),
    ];
    expect(
      triggers.map(({ type, metricType, metadata }) => [type, metricType, metadata['threshold']]),
    ).toEqual([
      ['prometheus', 'Value', '10'],
      ['prometheus', 'Value', '20'],
      ['cpu', 'Utilization', undefined],
      ['prometheus', 'AverageValue', '150'],
    ]);
    for (const { metadata } of triggers.filter(({ type }) => type === 'prometheus')) {
      expect(metadata['serverAddress']).toBe(PROMETHEUS.autoscaling.prometheusUrl);
      expect(metadata['query']).toContain('namespace="messages"');
      const [name = ''] = /gwk_\w+/.exec(metadata['query']!) ?? [];
      expect(known).toContain(name.replace(/_count$/, ''));
    }
  });

  test('by KEDA authenticates at Prometheus, and falls back to its other address', () => {
    const more = {
      autoscaling: { triggerAuthentication: 'prometheus' },
      monitoring: { prometheus: { url: 'https://prometheus.example.com' } },
    };
    const [trigger] = triggersOf(scaled('worker', { kind: 'keda' }, more), 'gwk-worker');
    expect(trigger).toMatchObject({
      metadata: { serverAddress: 'https://prometheus.example.com' },
      authenticationRef: { name: 'prometheus' },
    });
  });

  test.each([
    ['worker', { kind: 'keda' }, /worker\.autoscaling\.kind=keda needs autoscaling\.prometheusUrl/],
    ['api', { kind: 'keda', targetRequestsPerSecond: 1 }, /api\.autoscaling\.kind=keda needs/],
    ['worker', { minReplicas: 5, maxReplicas: 4 }, /minReplicas is greater than maxReplicas/],
    [
      'worker',
      { targetWebhookAgeSeconds: 0, targetPreparationAgeSeconds: 0 },
      /needs targetWebhookAgeSeconds/,
    ],
  ])('of %s with %o is refused', (program, fields, words) => {
    expect(() => templateText(scaled(program, fields))).toThrow(words);
  });
});

describeChart('monitors', () => {
  const values = (of: string, skipIfMissing: boolean) => ({
    ...MINIMAL_VALUES,
    networkPolicy: READ_BY_PROMETHEUS,
    monitoring: {
      [of]: { enabled: true, skipIfMissing, scrapeTimeout: '10s', relabelings: [{ targetLabel: 'a' }] },
      rules: { enabled: true, skipIfMissing },
    },
  });
  const kindsWith = (given: object, ...options: string[]) =>
    withValues(given, (file) => {
      const install = ['template', 'gwk', CHART, '--namespace', 'messages', '--values', file];
      const { output } = helm(...install, ...options);
      const kinds = ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'];
      return [
        ...kinds.filter((kind) => output.includes(`kind: ${kind}\n`)),
        ...(output.includes('clusterIP: None') ? ['headless Service'] : []),
      ];
    });

  test.each([
    ['podMonitors', ['PodMonitor', 'PrometheusRule']],
    ['serviceMonitors', ['ServiceMonitor', 'PrometheusRule', 'headless Service']],
  ])('%s are left out where the cluster does not serve their kind, if wanted', (of, kinds) => {
    const served = kinds.slice(0, 2).map((kind) => `monitoring.coreos.com/v1/${kind}`);
    expect(kindsWith(values(of, false))).toEqual(kinds);
    expect(kindsWith(values(of, true))).toEqual([]);
    expect(kindsWith(values(of, true), '--api-versions', served.join(','))).toEqual(kinds);
  });

  test.each(['api', 'worker', 'operator', 'engine'])('of %s have the fields of the values', (name) => {
    const fields = {
      path: '/metrics',
      interval: '30s',
      scrapeTimeout: '10s',
      relabelings: [{ targetLabel: 'a' }],
    };
    const specOf = (of: string, kind: string) => find(render(values(of, false)), kind, `gwk-${name}`)['spec'];
    expect(specOf('podMonitors', 'PodMonitor')).toMatchObject({
      podMetricsEndpoints: [{ port: name === 'api' ? 'metrics' : 'health', ...fields }],
    });
    expect(specOf('serviceMonitors', 'ServiceMonitor')).toMatchObject({
      endpoints: [{ port: 'metrics', ...fields }],
    });
  });
});

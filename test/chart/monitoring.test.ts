import { loadConfig } from '@gwk/core/config/load';
import { tracingSettings } from '@gwk/core/config/tracing';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { find, LEAST, podsOf, READ_BY_PROMETHEUS, render } from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { WAYS } from './values.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';

interface Monitor {
  selector: { matchLabels: Record<string, string> };
  namespaceSelector?: object;
  podMetricsEndpoints: { port: string; path: string; interval: string }[];
}
const specOf = <T>(object: KubeObject) => object['spec'] as T;
const watched = (more: object = {}) =>
  render({
    ...LEAST,
    networkPolicy: READ_BY_PROMETHEUS,
    ...more,
    monitoring: { podMonitors: { enabled: true }, rules: { enabled: true } },
  });

describeChart('what the chart gives Prometheus and Grafana', () => {
  test('nothing, unless it is asked to', () => {
    const kinds = render(LEAST).map(({ kind }) => kind);
    expect(kinds).not.toContain('PodMonitor');
    expect(kinds).not.toContain('PrometheusRule');
  });

  test.each(['api', 'worker', 'operator'])(
    'the monitor of %s selects its pods, and a port that they have',
    (name) => {
      const objects = watched();
      const { selector, podMetricsEndpoints } = specOf<Monitor>(find(objects, 'PodMonitor', `gwk-${name}`));
      const selected = [...podsOf(objects)].filter(([, { metadata }]) =>
        Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels[label] === value),
      );
      expect(selected.map(([pod]) => pod)).toEqual([`Deployment/gwk-${name}`]);
      const ports = selected[0]![1].spec.containers[0]!.ports!.map((port) => port.name);
      expect(ports).toContain(podMetricsEndpoints[0]!.port);
    },
  );

  test.each<[string, object, object]>([
    ['those of the release', {}, { matchNames: ['messages'] }],
    ['those that are served', { operator: { namespaces: ['a', 'b'] } }, { matchNames: ['a', 'b'] }],
    ['all', { operator: { namespaces: ['*'] } }, { any: true }],
  ])('engines are looked for in the namespaces of Instances: %s', (_, values, namespaces) => {
    const spec = specOf<Monitor>(find(watched(values), 'PodMonitor', 'gwk-engine'));
    expect(spec.namespaceSelector).toEqual(namespaces);
    // As operator/src/cluster/kubernetes labels them.
    expect(spec.selector.matchLabels).toEqual({
      'app.kubernetes.io/managed-by': 'gwk-operator',
      'app.kubernetes.io/component': 'engine',
    });
  });

  test.each(['fleet', 'instance', 'webhooks'])('the dashboard %s is given to Grafana as it is', (name) => {
    const map = find(render(WAYS['monitoring']!), 'ConfigMap', `gwk-dashboard-${name}`);
    expect(map.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const given = (map['data'] as Record<string, string>)[`${name}.json`]!;
    const file = readFileSync(join(ROOT, 'charts/gwk/dashboards', `${name}.json`), 'utf8');
    expect(JSON.parse(given)).toEqual(JSON.parse(file));
  });

  describe('traces, and availability from Prometheus', () => {
    const asked = () => render(WAYS['traces, and availability from Prometheus']!);
    const seen = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=a%20shop%2C%20in%20a%20city',
    };
    type Env = { name: string; value?: string }[];
    const told = (env: Env) =>
      Object.fromEntries(
        env.filter(({ name }) => /^(OTEL|PROMETHEUS)_/.test(name)).map(({ name, value }) => [name, value]),
      );
    const toldPod = (objects: KubeObject[], name: string) =>
      told(podsOf(objects).get(`Deployment/gwk-${name}`)!.spec.containers[0]!.env as Env);

    test('API, workers and engines send traces; workers ask Prometheus', () => {
      expect(toldPod(asked(), 'api')).toEqual(seen);
      expect(toldPod(asked(), 'worker')).toEqual({
        ...seen,
        PROMETHEUS_URL: 'http://prometheus.monitoring:9090',
      });
      const profiles = find(asked(), 'ConfigMap', 'gwk-operator-profiles');
      const { default: profile } = parse((profiles['data'] as Record<string, string>)['profiles.yaml']!) as {
        default: { env: Env };
      };
      expect(told(profile.env)).toEqual(seen);
    });

    test('and nobody is told of either where they are not wanted', () => {
      for (const name of ['api', 'worker']) expect(toldPod(render(LEAST), name)).toEqual({});
    });

    test('the settings are such that the programs take them', () => {
      const { traceResource } = loadConfig({ traceResource: tracingSettings.traceResource }, seen);
      expect(traceResource).toBe(seen.OTEL_RESOURCE_ATTRIBUTES);
    });
  });

  test('engines leave the name of their instance out where that is switched off', () => {
    const profiles = find(render(WAYS['monitoring']!), 'ConfigMap', 'gwk-operator-profiles');
    const { default: profile } = parse((profiles['data'] as Record<string, string>)['profiles.yaml']!) as {
      default: { env: object[] };
    };
    expect(profile.env).toEqual([{ name: 'GWK_ENGINE_METRICS_INSTANCE', value: 'off' }]);
  });
});

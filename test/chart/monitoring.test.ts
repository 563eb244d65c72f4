import { loadConfig } from '@gwk/core/config/load';
import { tracingSettings } from '@gwk/core/config/tracing';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  find,
  MINIMAL_VALUES,
  listPodTemplates,
  READ_BY_PROMETHEUS,
  render,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { INSTALLATIONS } from './values.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';

interface Monitor {
  selector: { matchLabels: Record<string, string> };
  namespaceSelector?: object;
  podMetricsEndpoints: { port: string; path: string; interval: string }[];
}
interface ServiceMonitor extends Omit<Monitor, 'podMetricsEndpoints'> {
  endpoints: { port: string }[];
}
type Labels = Record<string, string>;
interface ServiceSpec {
  ports: object[];
  selector: Labels;
}
/** The labels of operator/src/cluster/kubernetes. */
const ENGINE_LABELS = {
  'app.kubernetes.io/managed-by': 'gwk-operator',
  'app.kubernetes.io/component': 'engine',
};
const portsOf = (containers: { ports?: { containerPort: number }[] }[]) =>
  containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
const specOf = <T>(object: KubeObject) => object['spec'] as T;
const withMonitoring = (more: object = {}) =>
  render({
    ...MINIMAL_VALUES,
    networkPolicy: READ_BY_PROMETHEUS,
    ...more,
    monitoring: { podMonitors: { enabled: true }, rules: { enabled: true } },
  });

describeChart('the monitoring objects of the chart', () => {
  test('are absent by default', () => {
    const kinds = render(MINIMAL_VALUES).map(({ kind }) => kind);
    expect(kinds).not.toContain('PodMonitor');
    expect(kinds).not.toContain('ServiceMonitor');
    expect(kinds).not.toContain('PrometheusRule');
  });

  test.each(['api', 'worker', 'operator'])(
    'the PodMonitor of %s selects its pods and one of their ports',
    (name) => {
      const objects = withMonitoring();
      const { selector, podMetricsEndpoints } = specOf<Monitor>(find(objects, 'PodMonitor', `gwk-${name}`));
      const selected = [...listPodTemplates(objects)].filter(([, { metadata }]) =>
        Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels[label] === value),
      );
      expect(selected.map(([pod]) => pod)).toEqual([`Deployment/gwk-${name}`]);
      const ports = selected[0]![1].spec.containers[0]!.ports!.map((port) => port.name);
      expect(ports).toContain(podMetricsEndpoints[0]!.port);
    },
  );

  test.each<[string, number, string[]]>([
    ['api', 8085, ['messages']],
    ['worker', 8082, ['messages']],
    ['operator', 8083, ['messages']],
    ['engine', 8084, ['a', 'b']],
  ])('the ServiceMonitor of %s selects a Service of its pods in each namespace', (name, port, namespaces) => {
    const objects = render(
      {
        ...MINIMAL_VALUES,
        networkPolicy: READ_BY_PROMETHEUS,
        operator: { namespaces: ['a', 'b'] },
        monitoring: { serviceMonitors: { enabled: true } },
      },
      { namespace: 'messages' },
    );
    const monitor = specOf<ServiceMonitor>(find(objects, 'ServiceMonitor', `gwk-${name}`));
    expect(monitor.namespaceSelector).toEqual({ matchNames: namespaces });
    const has = (labels: Labels, wanted: Labels) =>
      Object.entries(wanted).every(([label, value]) => labels[label] === value);
    const services = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' && has(metadata.labels as Labels, monitor.selector.matchLabels),
    );
    expect(services.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
    for (const service of services) {
      const { ports, selector } = specOf<ServiceSpec>(service);
      expect(ports).toEqual([{ name: monitor.endpoints[0]!.port, port }]);
      const pods = [...listPodTemplates(objects)].filter(([, { metadata }]) =>
        has(metadata.labels, selector),
      );
      const deployments = pods.map(([pod, { spec }]) => [pod, portsOf(spec.containers)]);
      const expected = [[`Deployment/gwk-${name}`, expect.arrayContaining([port]) as number[]]];
      // The operator creates the pods of engines, with these labels.
      expect(deployments).toEqual(name === 'engine' ? [] : expected);
      if (name === 'engine') expect(selector).toEqual(ENGINE_LABELS);
    }
  });

  test.each<[string, object, object]>([
    ['the release namespace', {}, { matchNames: ['messages'] }],
    ['the served namespaces', { operator: { namespaces: ['a', 'b'] } }, { matchNames: ['a', 'b'] }],
    ['all namespaces', { operator: { namespaces: ['*'] } }, { any: true }],
  ])('the PodMonitor of engines selects %s', (_, values, namespaces) => {
    const spec = specOf<Monitor>(find(withMonitoring(values), 'PodMonitor', 'gwk-engine'));
    expect(spec.namespaceSelector).toEqual(namespaces);
    expect(spec.selector.matchLabels).toEqual(ENGINE_LABELS);
  });

  test.each(['fleet', 'instance', 'webhooks'])(
    'the ConfigMap of dashboard %s contains the file unchanged',
    (name) => {
      const map = find(render(INSTALLATIONS['monitoring']!), 'ConfigMap', `gwk-dashboard-${name}`);
      expect(map.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
      const given = (map['data'] as Record<string, string>)[`${name}.json`]!;
      const file = readFileSync(join(ROOT, 'charts/gwk/dashboards', `${name}.json`), 'utf8');
      expect(JSON.parse(given)).toEqual(JSON.parse(file));
    },
  );

  describe('tracing and availability from Prometheus', () => {
    const rendered = () => render(INSTALLATIONS['tracing, and availability from Prometheus']!);
    const expected = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=a%20shop%2C%20in%20a%20city',
    };
    type Env = { name: string; value?: string }[];
    const observability = (env: Env) =>
      Object.fromEntries(
        env.filter(({ name }) => /^(OTEL|PROMETHEUS)_/.test(name)).map(({ name, value }) => [name, value]),
      );
    const observabilityOf = (objects: KubeObject[], name: string) =>
      observability(listPodTemplates(objects).get(`Deployment/gwk-${name}`)!.spec.containers[0]!.env as Env);

    test('API, workers and engines send traces; workers query Prometheus', () => {
      expect(observabilityOf(rendered(), 'api')).toEqual(expected);
      expect(observabilityOf(rendered(), 'worker')).toEqual({
        ...expected,
        PROMETHEUS_URL: 'http://prometheus.monitoring:9090',
      });
      const profiles = find(rendered(), 'ConfigMap', 'gwk-operator-profiles');
      const { default: profile } = parse((profiles['data'] as Record<string, string>)['profiles.yaml']!) as {
        default: { env: Env };
      };
      expect(observability(profile.env)).toEqual(expected);
    });

    test('no program gets these settings by default', () => {
      for (const name of ['api', 'worker']) expect(observabilityOf(render(MINIMAL_VALUES), name)).toEqual({});
    });

    test('the programs accept the settings', () => {
      const { traceResource } = loadConfig({ traceResource: tracingSettings.traceResource }, expected);
      expect(traceResource).toBe(expected.OTEL_RESOURCE_ATTRIBUTES);
    });
  });

  test('instanceLabel=false removes instance_id from the metrics of engines', () => {
    const profiles = find(render(INSTALLATIONS['monitoring']!), 'ConfigMap', 'gwk-operator-profiles');
    const { default: profile } = parse((profiles['data'] as Record<string, string>)['profiles.yaml']!) as {
      default: { env: object[] };
    };
    expect(profile.env).toEqual([{ name: 'GWK_ENGINE_METRICS_INSTANCE', value: 'off' }]);
  });
});

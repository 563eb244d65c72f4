import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRICS } from '@gwk/core/metrics/metrics';
import { ROOT } from '../support/program.js';
import { describeWithPrometheus } from '../support/prometheus/programs.js';
import { runRuleTests } from './promtool.js';
import { isForeignMetric, metricsIn } from './rules.js';

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { refId: string; expr: string; legendFormat?: string }[];
}
interface Dashboard {
  uid: string;
  templating: { list: { name: string; query: string | { query: string }; allValue?: string }[] };
  panels: Panel[];
}

const FOLDER = join(ROOT, 'charts/gwk/dashboards');
const names = readdirSync(FOLDER).map((file) => file.replace('.json', ''));
const read = (name: string) => readFileSync(join(FOLDER, `${name}.json`), 'utf8');
const dashboards = names.map((name) => JSON.parse(read(name)) as Dashboard);

const metrics = new Map(
  Object.values(METRICS)
    .flat()
    .map((metric) => [metric.name, metric]),
);
const metricOf = (series: string) =>
  metrics.get(series) ?? metrics.get(series.replace(/_(bucket|sum|count)$/, ''));
/** Labels that Prometheus adds to the series of every pod. */
const TARGET_LABELS = ['namespace', 'pod', 'le'];

const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => [`${dashboard.uid}: ${panel.title}`, panel, dashboard] as const),
);

test.each(panels)('%s uses series, labels and variables that exist', (_, panel, dashboard) => {
  const variables = dashboard.templating.list.map(({ name }) => name);
  for (const { expr, legendFormat = '' } of panel.targets) {
    const series = metricsIn(expr);
    expect(series.length).toBeGreaterThan(0);
    expect(series.filter((name) => !metricOf(name) && !isForeignMetric(name))).toEqual([]);
    const labels = [...series.flatMap((name) => metricOf(name)?.labelNames ?? []), ...TARGET_LABELS];
    const used = [...expr.matchAll(/([a-z_]+)(?:=~?|!=)"/g), ...legendFormat.matchAll(/\{\{(\w+)\}\}/g)];
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/));
    expect(
      [...used.map(([, label]) => label!), ...grouped].filter((label) => !labels.includes(label)),
    ).toEqual([]);
    expect([...expr.matchAll(/\$(\w+)/g)].filter(([, name]) => !variables.includes(name!))).toEqual([]);
  }
});

test.each(dashboards.map((each) => [each.uid, each] as const))(
  'the variables of %s use series that exist',
  (_, each) => {
    for (const { name, query } of each.templating.list) {
      if (typeof query === 'string') continue;
      const [, metric] = /^label_values\(([a-z_]+)/.exec(query.query)!;
      expect([name, metrics.has(metric!)]).toEqual([name, true]);
    }
  },
);

test('ids are unique: of dashboards, of panels in a dashboard, of queries in a panel', () => {
  const lists = [
    dashboards.map(({ uid }) => uid),
    ...dashboards.map((each) => each.panels.map(({ id }) => id)),
    ...panels.map(([, { targets }]) => targets.map(({ refId }) => refId)),
  ];
  for (const list of lists) expect(new Set<unknown>(list).size).toBe(list.length);
});

test.each(dashboards.map((each) => [each.uid, each.panels] as const))(
  'the panels of %s do not overlap',
  (_, given) => {
    const cells = given.flatMap(({ gridPos: { x, y, w } }) =>
      Array.from({ length: w }, (__, column) => `${x + column} ${y}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of given) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  },
);

test('only the namespace variable matches every value when all are selected', () => {
  const variables = dashboards.flatMap(({ templating }) => templating.list);
  const any = variables.filter(({ allValue }) => allValue !== undefined);
  expect(new Set(any.map(({ name, allValue }) => `${name} ${allValue}`))).toEqual(new Set(['namespace .*']));
});

const chosen = { namespace: '.*', pod: '(gwk-a)', instance_id: 'ins_a' };
const withVariables = (expr: string) =>
  expr.replaceAll(/\$(\w+)/g, (_, name: string) => chosen[name as keyof typeof chosen]);
const samples = (expr: string, exp_samples: object[]) => ({
  expr: withVariables(expr),
  eval_time: '20m',
  exp_samples,
});
const checkQueries = (series: Record<string, string>, promql_expr_test: object[]) =>
  runRuleTests([
    {
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test,
    },
  ]);

/** The query of a panel. @param metric selects the query if the panel has several */
const exprOf = (uid: string, title: string, metric = '') =>
  dashboards
    .find((each) => each.uid === uid)!
    .panels.find((panel) => panel.title === title)!
    .targets.find(({ expr }) => expr.includes(metric))!.expr;

describeWithPrometheus('the instance dashboard in promtool', () => {
  const instancePanels = dashboards.find(({ uid }) => uid === 'gwk-instance')!.panels;
  /** All series of one engine, each of them increasing. */
  const seriesOf = (pod: string, id: string): Record<string, string> =>
    Object.fromEntries(
      [...Object.values(METRICS['`gwk engine`']!), { name: 'process_resident_memory_bytes', labelNames: [] }]
        .flatMap((metric) =>
          'buckets' in metric
            ? [0.1, Infinity].map((le) => ({ ...metric, name: `${metric.name}_bucket`, le: `,le="${le}"` }))
            : [{ ...metric, le: '' }],
        )
        .map(({ name, labelNames, le }) => {
          const labels = labelNames.map((label) => `,${label}="${label === 'instance_id' ? id : 'x'}"`);
          return [`${name}{${pod}${labels.join('')}${le.replace('Infinity', '+Inf')}}`, '0+6x30'];
        }),
    );

  test('no panel shows other instances, or a pod of the same name in another namespace', () => {
    const foreign = {
      ...seriesOf('namespace="staging",pod="gwk-a"', 'ins_b'),
      ...seriesOf('namespace="shop",pod="gwk-b"', 'ins_b'),
      'process_resident_memory_bytes{namespace="shop",pod="gwk-a-exporter"}': '1x30',
    };
    const exprs = instancePanels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(
      checkQueries(
        foreign,
        exprs.map((expr) => samples(expr, [])),
      ),
    ).toBe('ok');
  });

  test.each([
    ['Connected', 120],
    ['Claimed messages', 120],
    ['Resident memory', 120],
    ['Received messages', 0.1],
    ['Active conversations', 120],
  ])('%s shows the selected instance only', (title, value) => {
    const both = {
      ...seriesOf('namespace="shop",pod="gwk-a"', 'ins_a'),
      ...seriesOf('namespace="staging",pod="gwk-a"', 'ins_b'),
      ...seriesOf('namespace="shop",pod="gwk-b"', 'ins_b'),
    };
    const { expr } = instancePanels.find((panel) => panel.title === title)!.targets[0]!;
    expect(checkQueries(both, [samples(expr, [{ labels: '{}', value }])])).toBe('ok');
  });

  test('counts the first lost connection of an engine and later ones', () => {
    const lost = (pod: string) => `namespace="shop",pod="${pod}"`;
    const begun = (pod: string) => `gwk_engine_disconnections_total{${lost(pod)},reason="connection_lost"}`;
    const own = `gwk_instance_connected{${lost('gwk-a')},instance_id="ins_a"}`;
    const series = {
      [own]: '1x30',
      [begun('gwk-a')]: '_x15 1x15',
      [begun('gwk-b')]: '_x15 1 1 3x13',
      // Losses from long ago do not count again.
      [begun('gwk-c')]: '7x30',
    };
    const expr = (uid: string) => exprOf(uid, 'Lost connections by reason');
    const labels = '{reason="connection_lost"}';
    const tests = [
      samples(expr('gwk-fleet'), [{ labels, value: 4 }]),
      samples(expr('gwk-instance'), [{ labels, value: 1 }]),
    ];
    expect(checkQueries(series, tests)).toBe('ok');
  });
});

describeWithPrometheus('the dashboards of several gateways in promtool', () => {
  const COUNTED: [string, string, string, string][] = [
    ['gwk-fleet', 'Connected instances', 'gwk_instances', 'connected'],
    ['gwk-fleet', 'Offline for over 5 minutes', 'gwk_instances_down', ''],
    ['gwk-fleet', 'Banned instances', 'gwk_instances', 'banned'],
    ['gwk-fleet', 'Instances by state', 'gwk_instances', 'connected'],
    ['gwk-fleet', 'Send queue', 'gwk_send_queue_messages', 'waiting'],
    ['gwk-fleet', 'Operator', 'gwk_operator_queue_depth', ''],
    ['gwk-fleet', 'Operator', 'gwk_operator_rollout', 'waiting'],
    ['gwk-fleet', 'Database size', 'gwk_database_size_bytes', ''],
    ['gwk-fleet', 'Expired partitions', 'gwk_partitions_expired', ''],
    ['gwk-webhooks', 'Open deliveries', 'gwk_webhook_queue_deliveries', ''],
    ['gwk-webhooks', 'Failing endpoints', 'gwk_webhook_endpoints', 'failing'],
    ['gwk-webhooks', 'Endpoints disabled by gwk', 'gwk_webhook_endpoints', 'disabled_by_gwk'],
    ['gwk-webhooks', 'Backlog', 'gwk_webhook_queue_deliveries', ''],
    ['gwk-webhooks', 'Endpoints by state', 'gwk_webhook_endpoints', 'failing'],
  ];

  test.each(COUNTED)(
    '%s: %s sums gateways and counts the replicas of each gateway once',
    (uid, title, metric, state) => {
      const of = (target: string) => `${metric}{${target}${state ? `,state="${state}"` : ''}}`;
      const series = {
        [of('namespace="shop",pod="w1"')]: '3x30',
        [of('namespace="shop",pod="w2"')]: '3x30',
        [of('namespace="staging",pod="w1"')]: '2x30',
        [of('namespace="without-postgres",pod="w1"')]: 'NaN '.repeat(30),
      };
      const expr = exprOf(uid, title, metric);
      const labels = expr.startsWith('sum by (state)') ? `{state="${state}"}` : '{}';
      expect(checkQueries(series, [samples(expr, [{ labels, value: 5 }])])).toBe('ok');
    },
  );
});

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
import { describeWithPrometheus } from '../support/prometheus/programs.js';
import type { AlertCase } from '../monitoring/cases/alert-case.js';
import { ALERT_CASES } from '../monitoring/cases/all.js';
import { runRuleTests } from '../monitoring/promtool.js';
import { readGroups, readRules, type Rule, type RuleGroup } from '../monitoring/rules.js';

/** The rule groups of a release in the namespace `messages`. */
function ruleGroups(values: object, name = 'gwk'): RuleGroup[] {
  const rules = find(render(values, { namespace: 'messages' }), 'PrometheusRule', name);
  return (rules['spec'] as { groups: RuleGroup[] }).groups;
}
const withRules = (more: object = {}, rules: object = {}): object => ({
  ...MINIMAL_VALUES,
  networkPolicy: READ_BY_PROMETHEUS,
  ...more,
  monitoring: { rules: { enabled: true, ...rules } },
});
const findRule = (groups: RuleGroup[], alert: string): Rule =>
  groups.flatMap(({ rules }) => rules).find((rule) => rule.alert === alert)!;

/** The volume claims of all pods, including volumeClaimTemplates. */
function volumeClaims(objects: KubeObject[]): string[] {
  type Claimed = { volumeClaimTemplates?: { metadata: { name: string } }[] };
  const mounted = [...listPodTemplates(objects).values()].flatMap(({ spec }) =>
    (spec.volumes ?? []).map(
      ({ persistentVolumeClaim: claim }) => (claim as { claimName: string } | undefined)?.claimName,
    ),
  );
  const templates = objects.flatMap(({ kind, metadata, ...object }) =>
    kind === 'StatefulSet'
      ? ((object['spec'] as Claimed).volumeClaimTemplates ?? []).map(
          (template) => `${template.metadata.name}-${metadata.name}-0`,
        )
      : [],
  );
  return [...new Set([...mounted, ...templates])].filter((name) => name !== undefined);
}

describeChart('the alerts of the chart', () => {
  test('are the rules of the file, limited to the namespace, with a runbook_url', () => {
    const namespaceIn = (group: string): string =>
      group === 'gwk-engines' ? 'namespace=~"messages"' : 'namespace="messages"';
    expect(ruleGroups(INSTALLATIONS['monitoring']!)).toEqual(
      readGroups().map(({ name, rules }) => ({
        name,
        rules: rules.map((rule) => ({
          ...rule,
          expr: rule.expr
            .replaceAll('namespace=~".*"', namespaceIn(name))
            .replaceAll('persistentvolumeclaim=~".*gwk.*"', 'persistentvolumeclaim=~"gwk-media"'),
          annotations: {
            ...rule.annotations,
            runbook_url: `https://wiki.example.com/gwk/${rule.alert}.md`,
          },
        })),
      })),
    );
  });

  test.each([
    [['shop', 'support'], 'namespace=~"shop|support"'],
    [['*'], 'namespace=~".*"'],
  ])('select engines in the served namespaces %s', (namespaces, selector) => {
    const groups = ruleGroups(withRules({ operator: { namespaces } }));
    expect(findRule(groups, 'GwkInstanceBanned').expr).toContain(`{${selector},`);
    expect(findRule(groups, 'GwkInstancesDown').expr).toContain('{namespace="messages"}');
  });

  test.each<[string, string[], object, string?]>([
    ['the claim of the chart', ['gwk-media'], {}],
    ['an existing claim', ['files'], { media: { folder: { existingClaim: 'files' } } }],
    ['another release name', ['mail-media'], { fullnameOverride: 'mail' }, 'mail'],
    [
      'a demo with volumes',
      ['gwk-media', 'data-gwk-demo-postgres-0', 'data-gwk-demo-redis-0'],
      { demo: { enabled: true, persistence: { enabled: true } } },
    ],
    ['a bucket', [], { media: { s3: { bucket: 'files' } } }],
  ])('cover exactly the volumes of the release: %s', (_, claims, values, name = 'gwk') => {
    const objects = render(withRules(values), { namespace: 'messages' });
    const rule = findRule(ruleGroups(withRules(values), name), 'GwkVolumeAlmostFull') as Rule | undefined;
    const watching = /persistentvolumeclaim=~"([^"]*)"/.exec(rule?.expr ?? '')?.[1]!.split('|') ?? [];
    expect(watching).toEqual(claims);
    expect(watching.sort()).toEqual(volumeClaims(objects).sort());
  });

  test('can be disabled one by one and get extra labels', () => {
    const rules = { disabled: ['GwkInstanceBanned'], alertLabels: { team: 'messages' } };
    const made = ruleGroups(withRules({}, rules)).flatMap((group) => group.rules);
    expect(made.map(({ alert }) => alert)).not.toContain('GwkInstanceBanned');
    expect(made.length).toBe(readRules().length - 1);
    for (const { labels } of made) expect(labels).toEqual({ severity: labels.severity, team: 'messages' });
  });

  describeWithPrometheus('with two gateways in one Prometheus', () => {
    const groups = ruleGroups(withRules());
    /** One firing case per alert, without the slow cases of half a day. */
    const firing = ALERT_CASES.filter(
      ({ alert, fires, at }, index) =>
        fires.length > 0 &&
        parseInt(at) < 120 &&
        ALERT_CASES.findIndex((each) => each.alert === alert && each.fires.length > 0) === index,
    );
    /** Alerts on missing series. */
    const ON_ABSENCE = ['GwkApiDown', 'GwkWorkerDown', 'GwkOperatorWithoutLeader'];

    test('fire for their own gateway', () => {
      expect(
        runRuleTests(
          firing.map((each) => alertCountTest(each, inNamespace('messages', each.series), each.fires.length)),
          { groups },
        ),
      ).toBe('ok');
    });

    test('do not fire for the other gateway', () => {
      const elsewhere = firing.filter(({ alert }) => !ON_ABSENCE.includes(alert));
      expect(
        runRuleTests(
          elsewhere.map((each) => alertCountTest(each, inNamespace('staging', each.series), 0)),
          { groups },
        ),
      ).toBe('ok');
    });

    const answered = 'gwk_http_request_duration_seconds_count{operation="send",status="202"}';
    const failed = 'gwk_message_statuses_total{status="failed",code="timeout"}';
    const sent = 'gwk_message_statuses_total{status="sent",code=""}';
    test.each<[string, string, Record<string, string>, Record<string, string>]>([
      ['GwkApiDown', 'without an API', {}, { 'gwk_http_requests_in_flight{pod="a"}': '1x30' }],
      ['GwkWorkerDown', 'without a worker', {}, { 'gwk_worker_job_runs_total{pod="w"}': '1x30' }],
      ['GwkOperatorWithoutLeader', 'without operators', {}, { 'gwk_operator_leader{pod="o"}': '1x30' }],
      [
        'GwkOperatorWithoutLeader',
        'without a leader',
        { 'gwk_operator_leader{pod="o"}': '0x30' },
        { 'gwk_operator_leader{pod="o"}': '1x30' },
      ],
      [
        'GwkApiErrors',
        'that fails one request in ten',
        { [answered]: '0+90x30', [answered.replace('202', '503')]: '0+10x30' },
        { [answered]: '0+90000x30' },
      ],
      [
        'GwkSendsFailing',
        'that fails one message in ten',
        { [sent]: '0+90x30', [failed]: '0+10x30' },
        { [sent]: '0+90000x30' },
      ],
    ])('%s fires for a gateway %s beside a busy healthy one', (alert, _, own, other) => {
      const series = { ...inNamespace('messages', own), ...inNamespace('staging', other) };
      expect(runRuleTests([alertCountTest({ alert, at: '30m' }, series, 1)], { groups })).toBe('ok');
    });
  });
});

/** Moves the series of a case from the namespace `shop`, or from none, into a namespace. */
function inNamespace(namespace: string, series: Record<string, string>): Record<string, string> {
  const label = `namespace="${namespace}"`;
  return Object.fromEntries(
    Object.entries(series).map(([name, values]) => [
      name.includes('namespace="')
        ? name.replace(/namespace="shop"/, label)
        : name.replace('{', `{${label},`),
      values,
    ]),
  );
}

/** Expects this many alerts in the namespace `messages`. */
function alertCountTest(
  { alert, at }: Pick<AlertCase, 'alert' | 'at'>,
  series: object,
  amount: number,
): object {
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({
      series: name,
      values: values as string,
    })),
    promql_expr_test: [
      {
        expr: `count by (alertname, namespace) (ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: at,
        exp_samples:
          amount === 0 ? [] : [{ labels: `{alertname="${alert}",namespace="messages"}`, value: amount }],
      },
    ],
  };
}

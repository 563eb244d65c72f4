import { find, LEAST, podsOf, READ_BY_PROMETHEUS, render } from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { WAYS } from './values.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { describeWithPrometheus } from '../support/prometheus/programs.js';
import type { AlertCase } from '../monitoring/cases/alert-case.js';
import { ALERT_CASES } from '../monitoring/cases/all.js';
import { runRuleTests } from '../monitoring/promtool.js';
import { readGroups, readRules, type Rule, type RuleGroup } from '../monitoring/rules.js';

/** The rules as a release in the namespace `messages` has them. */
function groupsOf(values: object, name = 'gwk'): RuleGroup[] {
  const rules = find(render(values, { namespace: 'messages' }), 'PrometheusRule', name);
  return (rules['spec'] as { groups: RuleGroup[] }).groups;
}
const watched = (more: object = {}, rules: object = {}): object => ({
  ...LEAST,
  networkPolicy: READ_BY_PROMETHEUS,
  ...more,
  monitoring: { rules: { enabled: true, ...rules } },
});
const ruleIn = (groups: RuleGroup[], alert: string): Rule =>
  groups.flatMap(({ rules }) => rules).find((rule) => rule.alert === alert)!;

/** The claims of all pods, those of their templates included. */
function claimsOf(objects: KubeObject[]): string[] {
  type Claimed = { volumeClaimTemplates?: { metadata: { name: string } }[] };
  const mounted = [...podsOf(objects).values()].flatMap(({ spec }) =>
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

describeChart('the alerts that the chart makes', () => {
  test('are those of the file, of its own namespace, with the address of their pages', () => {
    const namespaceIn = (group: string): string =>
      group === 'gwk-engines' ? 'namespace=~"messages"' : 'namespace="messages"';
    expect(groupsOf(WAYS['monitoring']!)).toEqual(
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
  ])('look for engines in the namespaces that are served: %s', (namespaces, selector) => {
    const groups = groupsOf(watched({ operator: { namespaces } }));
    expect(ruleIn(groups, 'GwkInstanceBanned').expr).toContain(`{${selector},`);
    expect(ruleIn(groups, 'GwkInstancesDown').expr).toContain('{namespace="messages"}');
  });

  test.each<[string, string[], object, string?]>([
    ['the claim that the chart makes', ['gwk-media'], {}],
    ['a claim of its own', ['files'], { media: { folder: { existingClaim: 'files' } } }],
    ['another name of the release', ['mail-media'], { fullnameOverride: 'mail' }, 'mail'],
    [
      'a trial that keeps its data',
      ['gwk-media', 'data-gwk-demo-postgres-0', 'data-gwk-demo-redis-0'],
      { demo: { enabled: true, persistence: { enabled: true } } },
    ],
    ['a bucket', [], { media: { s3: { bucket: 'files' } } }],
  ])('watch the volumes that there are, and no other: %s', (_, claims, values, name = 'gwk') => {
    const objects = render(watched(values), { namespace: 'messages' });
    const rule = ruleIn(groupsOf(watched(values), name), 'GwkVolumeAlmostFull') as Rule | undefined;
    const watching = /persistentvolumeclaim=~"([^"]*)"/.exec(rule?.expr ?? '')?.[1]!.split('|') ?? [];
    expect(watching).toEqual(claims);
    expect(watching.sort()).toEqual(claimsOf(objects).sort());
  });

  test('can be left out one by one, and all be labelled for their routing', () => {
    const rules = { disabled: ['GwkInstanceBanned'], alertLabels: { team: 'messages' } };
    const made = groupsOf(watched({}, rules)).flatMap((group) => group.rules);
    expect(made.map(({ alert }) => alert)).not.toContain('GwkInstanceBanned');
    expect(made.length).toBe(readRules().length - 1);
    for (const { labels } of made) expect(labels).toEqual({ severity: labels.severity, team: 'messages' });
  });

  describeWithPrometheus('where one Prometheus sees two gateways', () => {
    const groups = groupsOf(watched());
    /** One of each alert; those of half a day are of rules that differ in nothing here, and take a minute. */
    const firing = ALERT_CASES.filter(
      ({ alert, fires, at }, index) =>
        fires.length > 0 &&
        parseInt(at) < 120 &&
        ALERT_CASES.findIndex((each) => each.alert === alert && each.fires.length > 0) === index,
    );
    /** Of the alerts that tell what is not there. */
    const OF_NOTHING = ['GwkApiDown', 'GwkWorkerDown', 'GwkOperatorWithoutLeader'];

    test('tell all that befalls their own', () => {
      expect(
        runRuleTests(
          firing.map((each) => testOf(each, inNamespace('messages', each.series), each.fires.length)),
          { groups },
        ),
      ).toBe('ok');
    });

    test('tell nothing of what befalls the other one', () => {
      const elsewhere = firing.filter(({ alert }) => !OF_NOTHING.includes(alert));
      expect(
        runRuleTests(
          elsewhere.map((each) => testOf(each, inNamespace('staging', each.series), 0)),
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
        'whose operators wait for each other',
        { 'gwk_operator_leader{pod="o"}': '0x30' },
        { 'gwk_operator_leader{pod="o"}': '1x30' },
      ],
      [
        'GwkApiErrors',
        'that fails each tenth request, beside a busier one,',
        { [answered]: '0+90x30', [answered.replace('202', '503')]: '0+10x30' },
        { [answered]: '0+90000x30' },
      ],
      [
        'GwkSendsFailing',
        'that fails each tenth message, beside a busier one,',
        { [sent]: '0+90x30', [failed]: '0+10x30' },
        { [sent]: '0+90000x30' },
      ],
    ])('%s: a gateway %s is told beside one that is well', (alert, _, own, other) => {
      const series = { ...inNamespace('messages', own), ...inNamespace('staging', other) };
      expect(runRuleTests([testOf({ alert, at: '30m' }, series, 1)], { groups })).toBe('ok');
    });
  });
});

/** Series as pods of a namespace have them: those of `shop`, or of none that the case names. */
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

/** How many of an alert are to fire, each with the namespace `messages`. */
function testOf({ alert, at }: Pick<AlertCase, 'alert' | 'at'>, series: object, amount: number): object {
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

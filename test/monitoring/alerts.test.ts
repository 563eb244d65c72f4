import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRICS } from '@gwk/core/metrics/metrics';
import { ROOT } from '../support/program.js';
import { describeWithPrometheus } from '../support/prometheus/programs.js';
import type { AlertCase } from './cases/alert-case.js';
import { ALERT_CASES } from './cases/all.js';
import { promtool, runRuleTests } from './promtool.js';
import { isForeignMetric, metricsIn, readRules, RULES_FILE } from './rules.js';

const rules = readRules();
const configuration = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
const RUNBOOKS = join(ROOT, 'docs/runbooks');
const known = new Set(
  Object.values(METRICS)
    .flat()
    .flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_count`, `${name}_sum`, `${name}_bucket`] : [name],
    ),
);

const expectation = ({ fires }: AlertCase): string => (fires.length > 0 ? 'fires' : 'is quiet');

describe.each(rules)('$alert', ({ alert, expr, labels }) => {
  test('uses metrics that exist', () => {
    const named = metricsIn(expr);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((metric) => !known.has(metric) && !isForeignMetric(metric))).toEqual([]);
  });

  test('selects by namespace and keeps the namespace label', () => {
    const selected = expr.match(/\b(?:(?:gwk|kubelet)_\w+|ALERTS)(\{namespace=~"\.\*")?/g)!;
    expect(selected.filter((series) => !series.endsWith('{namespace=~".*"'))).toEqual([]);
    const aggregates = expr.match(/\b(sum|max|min|count|avg)\b( by \(\w+)?/g) ?? [];
    expect(aggregates.filter((aggregate) => !aggregate.endsWith(' by (namespace'))).toEqual([]);
  });

  test('has a runbook that names its severity', () => {
    const page = readFileSync(join(RUNBOOKS, `${alert}.md`), 'utf8');
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([alert, 'Meaning', 'Impact', 'Diagnosis', 'Fix']);
    expect(page).toContain(`\nSeverity: ${labels.severity}\n`);
    expect(page).toMatch(/```sh\n[^`]+```/);
  });

  test('has a runbook whose metrics and settings exist', () => {
    const page = readFileSync(join(RUNBOOKS, `${alert}.md`), 'utf8');
    // Names followed by ( are database functions; test/monitoring/runbooks.test.ts calls them.
    const metrics = page.match(/gwk_[a-z_]+(?![a-z_(])/g) ?? [];
    expect(metrics.filter((metric) => !known.has(metric))).toEqual([]);
    const settings = page.match(/GWK_[A-Z_]+/g) ?? [];
    expect(settings.filter((setting) => !configuration.includes(`\`${setting}\``))).toEqual([]);
  });

  test('has a case in which it fires and one in which it is quiet', () => {
    const cases = ALERT_CASES.filter((each) => each.alert === alert);
    expect(new Set(cases.map(expectation))).toEqual(new Set(['fires', 'is quiet']));
  });
});

test('every runbook has an alert', () => {
  const pages = readdirSync(RUNBOOKS).filter((file) => file !== 'README.md');
  expect(pages.sort()).toEqual(rules.map(({ alert }) => `${alert}.md`).sort());
});

test('metricsIn finds metric names that no program exports', () => {
  expect(metricsIn('sum by (pod) (rate(gwk_missing_total{a="gwk_b"}[5m])) / on() gwk_x > 0')).toEqual([
    'gwk_missing_total',
    'gwk_x',
  ]);
});

describeWithPrometheus('the alerts in promtool', () => {
  test('are valid rules', () => {
    expect(promtool('check', 'rules', RULES_FILE)).toBe('ok');
  });

  test.each(ALERT_CASES.map((each) => [`${each.name}: ${each.alert} ${expectation(each)}`, each] as const))(
    '%s',
    (_, each) => {
      expect(runRuleTests([ruleTest(each)], RULES_FILE)).toBe('ok');
    },
  );
});

/** The case in the format of `promtool test rules`. */
function ruleTest({ alert, series, at, fires }: AlertCase): object {
  const rule = rules.find((each) => each.alert === alert)!;
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      {
        eval_time: at,
        alertname: alert,
        exp_alerts: fires.map(({ labels, description }) => ({
          exp_labels: { ...rule.labels, ...labels },
          exp_annotations: { summary: rule.annotations.summary, description },
        })),
      },
    ],
  };
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../support/program.js';

export interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

export const RULES_FILE = join(ROOT, 'charts/gwk/files/alerts.yaml');

export interface RuleGroup {
  name: string;
  rules: Rule[];
}

export const readGroups = (): RuleGroup[] =>
  (parse(readFileSync(RULES_FILE, 'utf8')) as { groups: RuleGroup[] }).groups;

export const readRules = (): Rule[] => readGroups().flatMap(({ rules }) => rules);

/** Metrics of other exporters that rules and panels may use: Prometheus, kubelet and Node.js. */
const FOREIGN = /^(up|ALERTS|kubelet_volume_stats_[a-z_]+|process_[a-z_]+|nodejs_[a-z_]+)$/;
/** Functions and keywords of PromQL. */
const KEYWORDS = new Set(
  'sum max min avg count rate increase delta absent by without on ignoring and or unless vector histogram_quantile le min_over_time max_over_time last_over_time clamp_min topk'.split(
    ' ',
  ),
);

/** The metric names in a PromQL expression, without labels and their values. */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}/g, ' ')
    .replaceAll(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\boffset\s+\w+/g, ' ')
    .replaceAll(/"[^"]*"/g, ' ');
  const names = bare.match(/[a-zA-Z_][a-zA-Z0-9_]*/g) ?? [];
  return [...new Set(names.filter((name) => !KEYWORDS.has(name)))];
}

export const isForeignMetric = (metric: string): boolean => FOREIGN.test(metric);

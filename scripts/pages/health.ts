import { renderTable } from './table.ts';
import {
  MIN_CASES,
  LOW_RISK,
  MEDIUM_RISK,
  RESTRICTION_PENALTIES,
  RULES,
  WARM_UP_PENALTY,
  type Rule,
} from '@gwk/api/instances/health/rules';

/** Renders the tables of docs/health.md from the rules. */
export function renderHealthRules(): string {
  const risks = [
    [`${LOW_RISK} to 100`, '`low`'],
    [`${MEDIUM_RISK} to ${LOW_RISK - 1}`, '`medium`'],
    [`below ${MEDIUM_RISK}`, '`high`'],
  ];
  const factors = [...Object.entries(RULES).map(row), RESTRICTIONS, WARM_UP];
  return `${renderTable(['Score', 'Risk'], risks)}
A ratio with fewer than ${MIN_CASES} cases costs nothing: its \`status\` is \`info\` and its \`value\` is null.

${renderTable(['`key`', 'Measures', 'Attention', 'Bad'], factors)}`;
}

const MEANINGS: Readonly<Record<keyof typeof RULES, string>> = {
  delivery: 'Delivered messages of the last 7 days, among those sent at least 5 minutes ago',
  read: 'Read messages, among those delivered at least an hour ago',
  reply: 'New contacts who answered, among those first written to 1 to 7 days ago',
  newContacts: 'New contacts of the last 24 hours, as a part of `new_contacts_per_day` of the current policy',
  optOut: 'Opt-outs by word, as a part of the contacts written to within 7 days',
  failures:
    'Messages that failed because of the phone number, the recipient or the network, as a part of the sent and failed ones',
  reconnections: 'Connections lost in the last 24 hours',
};

const RESTRICTIONS = [
  '`restrictions`',
  'Blocks and restrictions by the network',
  `block within 30 days, or restriction that ended within 7: -${RESTRICTION_PENALTIES.recent}`,
  `restricted now: -${RESTRICTION_PENALTIES.restricted}; blocked now: -${RESTRICTION_PENALTIES.banned}`,
];
const WARM_UP = [
  '`warm_up`',
  'The first 14 days after the first pairing (sandbox: after its creation)',
  `warming up: -${WARM_UP_PENALTY}`,
  '',
];

function row([name, rule]: [string, Rule]): string[] {
  const bounds = [rule.attention, rule.bad].map(([at, penalty]) => {
    const bound = rule === RULES.reconnections ? String(at) : `${Number((at * 100).toFixed(1))} %`;
    return `${rule.side === 'below' ? 'below' : 'from'} ${bound}: -${penalty}`;
  });
  return [`\`${rule.key}\``, MEANINGS[name as keyof typeof RULES], ...bounds];
}

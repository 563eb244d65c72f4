import {
  MIN_CASES,
  LOW_RISK,
  MEDIUM_RISK,
  RESTRICTION_PENALTIES,
  RULES,
  WARM_UP_PENALTY,
  type Rule,
} from './rules.js';

/** Renders docs/health.md from the rules. */
export function renderHealthPage(): string {
  const rows = Object.entries(RULES).map(row);
  return `${INTRODUCTION}
| \`key\` | Measures | Attention | Bad |
| --- | --- | --- | --- |
${rows.join('\n')}
${OTHERS}`;
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

function row([name, rule]: [string, Rule]): string {
  const [attention, bad] = rule.steps.map(([at, penalty]) => {
    const bound = rule === RULES.reconnections ? String(at) : `${Number((at * 100).toFixed(1))} %`;
    return `${rule.side === 'below' ? 'below' : 'from'} ${bound}: -${penalty}`;
  });
  return `| \`${rule.key}\` | ${MEANINGS[name as keyof typeof RULES]} | ${attention} | ${bad} |`;
}

const INTRODUCTION = `# Health of an instance

Generated from \`core/src/health\` by \`make docs\`; do not edit.

\`GET /v1/instances/{instance_id}/health\` returns a score from 0 to 100. A higher score means a lower risk that the network blocks or disconnects the phone number. Each factor below can cost points; the score is 100 minus these penalties, and at least 0.

| Score | Risk |
| --- | --- |
| ${LOW_RISK} to 100 | \`low\` |
| ${MEDIUM_RISK} to ${LOW_RISK - 1} | \`medium\` |
| below ${MEDIUM_RISK} | \`high\` |

The gateway computes each answer from current data. \`recommendations\` explain, in Portuguese, how to improve each factor that costs points.

A ratio with fewer than ${MIN_CASES} cases costs nothing: its \`status\` is \`info\` and its \`value\` is null. For busy instances only the last 20,000 messages count.
`;

const OTHERS = `| \`restrictions\` | Blocks and restrictions by the network | block within 30 days, or restriction that ended within 7: -${RESTRICTION_PENALTIES.recent} | restricted now: -${RESTRICTION_PENALTIES.restricted}; blocked now: -${RESTRICTION_PENALTIES.banned} |
| \`warm_up\` | The first 14 days after the first pairing (sandbox: after its creation) | warming up: -${WARM_UP_PENALTY} | |

The score ignores failures that say nothing about the phone number: \`canceled\`, \`opted_out\`, \`not_connected\`, \`not_paired\`, \`expired\`. It also ignores connections that ended with their engine, because the API was unreachable, or for a requested restart.
`;

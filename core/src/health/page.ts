import {
  MIN_CASES,
  LOW_RISK,
  MEDIUM_RISK,
  RESTRICTION_PENALTIES,
  RULES,
  WARM_UP_PENALTY,
  type Rule,
} from './rules.js';

/** The page docs/health.md, made from the rules themselves. */
export function renderHealthPage(): string {
  const rows = Object.entries(RULES).map(row);
  return `${INTRODUCTION}
| \`key\` | What is looked at | attention | bad |
| --- | --- | --- | --- |
${rows.join('\n')}
${OTHERS}`;
}

const MEANINGS: Readonly<Record<keyof typeof RULES, string>> = {
  delivery: 'Messages of the last 7 days that were delivered, of those that left at least 5 minutes ago',
  read: 'Messages that were read, of those delivered at least an hour ago',
  reply: 'New contacts who answered, of those first written to within 7 days and at least a day ago',
  newContacts: 'New contacts of the last 24 hours against `new_contacts_per_day` of the policy in force',
  optOut: 'Opt-outs by word, against the contacts written to within 7 days',
  failures:
    'Messages that failed because of the number, the recipient or the network, against those that left',
  reconnections: 'Connections lost within 24 hours',
};

function row([name, rule]: [string, Rule]): string {
  const [attention, bad] = rule.steps.map(({ at, penalty }) => {
    const bound = rule === RULES.reconnections ? String(at) : `${Number((at * 100).toFixed(1))} %`;
    return `${rule.side === 'below' ? 'below' : 'from'} ${bound}: -${penalty}`;
  });
  return `| \`${rule.key}\` | ${MEANINGS[name as keyof typeof RULES]} | ${attention} | ${bad} |`;
}

const INTRODUCTION = `# Health of a number

Made from \`core/src/health\` by \`make docs\`; do not edit.

\`GET /v1/instances/{instance_id}/health\` answers a score from 0 to 100: the higher, the lower the risk that the network blocks or drops the number. The score is 100 less the penalties of its factors, and never below 0. Risk is \`low\` from ${LOW_RISK} points, \`medium\` from ${MEDIUM_RISK}, \`high\` below. Every answer is computed anew; \`recommendations\` say, in Portuguese, what to do about each factor that costs points.

A ratio of fewer than ${MIN_CASES} cases says nothing: its \`status\` is \`info\`, its \`value\` null, and it costs nothing. Of a busy number the last 20,000 messages are counted.
`;

const OTHERS = `| \`restrictions\` | Blocks and restrictions by the network | a block within 30 days, or a restriction that ended within 7: -${RESTRICTION_PENALTIES.lately} | restricted now: -${RESTRICTION_PENALTIES.restricted}; blocked now: -${RESTRICTION_PENALTIES.banned} |
| \`warm_up\` | Age of the number: the first 14 days after its first pairing (of a sandbox: after its creation) | warming up: -${WARM_UP_PENALTY} | |

Failures that tell nothing of the number do not count: \`canceled\`, \`opted_out\`, \`not_connected\`, \`not_paired\`, \`expired\`. Nor do connections that ended in order: an engine that was stopped or moved, or a restart on request.
`;

import {
  MIN_CASES,
  LOW_RISK,
  MEDIUM_RISK,
  RESTRICTION_ADVICE,
  RESTRICTION_PENALTIES,
  RULES,
  WARM_UP_ADVICE,
  WARM_UP_PENALTY,
  type Rule,
} from './rules.js';

/**
 * Number health (spec: HealthOut): a score from 0 to 100 out of what happened lately, 100 less the penalties of its
 * factors. Pure: the caller counts, this judges.
 */
export interface HealthFacts {
  now: Date;
  /** Null: never paired. */
  warmUpEndsAt: Date | null;
  banned: boolean;
  /** The network kept the number from reaching new contacts until then. */
  restrictedUntil: Date | null;
  /** Blocks by the network within the last 30 days. */
  bans: number;
  /** Outbound messages of the last 7 days that left, whose receipt came or has had time to come. */
  sent: number;
  delivered: number;
  /** Those delivered that were read, or have had time to be. */
  readable: number;
  read: number;
  /** Those that failed for a reason of the number, the recipient or the network. */
  failed: number;
  /** Contacts written to for the first time in the last 7 days, and those of them who answered. */
  newContacts: number;
  newContactsWhoReplied: number;
  /** The same count and limit that the policy applies. */
  newContactsToday: number;
  newContactsLimit: number;
  /** Contacts written to in the last 7 days, and opt-outs by word among them. */
  contacts: number;
  optOuts: number;
  /** Connections lost within 24 hours. */
  reconnections: number;
}

interface HealthFactor {
  key: string;
  label: string;
  status: 'ok' | 'attention' | 'bad' | 'info';
  value: number | null;
  detail: string;
  penalty: number;
}

export interface HealthScore {
  score: number;
  risk: 'low' | 'medium' | 'high';
  warming_up: boolean;
  warmup_ends_at: Date | null;
  factors: HealthFactor[];
  recommendations: string[];
}

interface ScoredFactor extends HealthFactor {
  recommendation?: string;
}

const DAY_MS = 86_400_000;
const LATELY_MS = 7 * DAY_MS;

export function computeHealthScore(facts: HealthFacts): HealthScore {
  const factors: ScoredFactor[] = [
    restriction(facts),
    ratio(RULES.delivery, facts.delivered, facts.sent),
    ratio(RULES.read, facts.read, facts.readable),
    ratio(RULES.reply, facts.newContactsWhoReplied, facts.newContacts),
    newContacts(facts),
    ratio(RULES.optOut, facts.optOuts, facts.contacts),
    ratio(RULES.failures, facts.failed, facts.sent + facts.failed),
    amount(RULES.reconnections, facts.reconnections, `${facts.reconnections} nas últimas 24 horas.`),
    warmUp(facts),
  ];
  const penalties = factors.reduce((sum, { penalty }) => sum + penalty, 0);
  const score = Math.max(0, 100 - penalties);
  return {
    score,
    risk: score >= LOW_RISK ? 'low' : score >= MEDIUM_RISK ? 'medium' : 'high',
    warming_up: isWarmingUp(facts),
    warmup_ends_at: facts.warmUpEndsAt,
    factors: factors.map(({ recommendation: _, ...factor }) => factor),
    recommendations: factors.flatMap(({ recommendation }) => recommendation ?? []),
  };
}

const percent = (value: number): string => `${(value * 100).toFixed(1).replace('.', ',')}%`;

function ratio(rule: Rule, part: number, whole: number): ScoredFactor {
  if (whole < MIN_CASES) {
    const detail = `Ainda há poucos casos (${whole}) em 7 dias.`;
    return { key: rule.key, label: rule.label, status: 'info', value: null, detail, penalty: 0 };
  }
  return amount(rule, part / whole, `${part} de ${whole} (${percent(part / whole)}) em 7 dias.`);
}

function amount(rule: Rule, value: number, detail: string): ScoredFactor {
  const { key, label, recommendation } = rule;
  const reached = rule.steps.filter(({ at }) => (rule.side === 'below' ? value < at : value >= at)).at(-1);
  const shown = { key, label, value: Math.round(value * 10_000) / 10_000, detail };
  if (!reached) return { ...shown, status: 'ok', penalty: 0 };
  return { ...shown, status: reached.status, penalty: reached.penalty, recommendation };
}

/** A limit of none is no sign of bad health: nobody is written to. */
function newContacts({ newContactsToday: count, newContactsLimit: limit }: HealthFacts): ScoredFactor {
  const share = limit === 0 ? 0 : count / limit;
  return amount(RULES.newContacts, share, `${count} de ${limit} permitidos.`);
}

function restriction({ now, banned, restrictedUntil, bans }: HealthFacts): ScoredFactor {
  const shown = { key: 'restrictions', label: 'Bloqueios e restrições da rede', value: bans };
  if (banned) {
    const detail = 'O número está bloqueado.';
    const { banned: recommendation } = RESTRICTION_ADVICE;
    return { ...shown, status: 'bad', detail, penalty: RESTRICTION_PENALTIES.banned, recommendation };
  }
  const { restricted: recommendation } = RESTRICTION_ADVICE;
  if (restrictedUntil !== null && now < restrictedUntil) {
    const detail = 'O número está restrito agora.';
    return { ...shown, status: 'bad', detail, penalty: RESTRICTION_PENALTIES.restricted, recommendation };
  }
  const restrictedLately = restrictedUntil !== null && now.getTime() - restrictedUntil.getTime() < LATELY_MS;
  if (bans > 0 || restrictedLately) {
    const detail = bans > 0 ? `${bans} em 30 dias.` : 'Uma restrição terminou há menos de 7 dias.';
    const penalty = RESTRICTION_PENALTIES.lately;
    return { ...shown, status: 'attention', detail, penalty, recommendation };
  }
  return { ...shown, status: 'ok', detail: 'Nenhum em 30 dias.', penalty: 0 };
}

function isWarmingUp({ now, warmUpEndsAt }: HealthFacts): boolean {
  return warmUpEndsAt === null || now < warmUpEndsAt;
}

function warmUp(facts: HealthFacts): ScoredFactor {
  const shown = { key: 'warm_up', label: 'Idade do número' };
  if (!isWarmingUp(facts)) {
    return { ...shown, status: 'ok', value: 0, detail: 'O aquecimento de 14 dias terminou.', penalty: 0 };
  }
  const { now, warmUpEndsAt } = facts;
  const days = warmUpEndsAt && Math.ceil((warmUpEndsAt.getTime() - now.getTime()) / DAY_MS);
  return {
    ...shown,
    status: 'attention',
    value: days,
    detail: days === null ? 'O número ainda não foi pareado.' : `Dias de aquecimento que faltam: ${days}.`,
    penalty: WARM_UP_PENALTY,
    recommendation: WARM_UP_ADVICE,
  };
}

import type { HealthOut } from '../../resources/health.js';
import type { Language, LocalText } from '@gwk/core/language';
import {
  FACTS,
  MIN_CASES,
  LOW_RISK,
  MEDIUM_RISK,
  RESTRICTION_ADVICE,
  RESTRICTION_PENALTIES,
  RULES,
  WARM_UP_ADVICE,
  WARM_UP_PENALTY,
  type Rule,
  type Step,
} from './rules.js';

export interface HealthFacts {
  now: Date;
  /** Null: never paired. */
  warmUpEndsAt: Date | null;
  banned: boolean;
  /** End of a restriction by the network, during which the instance cannot reach new contacts. */
  restrictedUntil: Date | null;
  /** Bans by the network in the last 30 days. */
  bans: number;
  /** Outbound messages sent in the last 7 days, with a receipt or old enough to have one. */
  sent: number;
  delivered: number;
  /** Delivered messages that are read, or old enough to be. */
  readable: number;
  read: number;
  /** Messages that failed because of the instance, the recipient or the network. */
  failed: number;
  /** Contacts first written to in the last 7 days, and how many of them replied. */
  newContacts: number;
  newContactsWhoReplied: number;
  /** Count and limit as the policy applies them. */
  newContactsToday: number;
  newContactsLimit: number;
  /** Contacts written to in the last 7 days, and how many of them opted out by a word. */
  contacts: number;
  optOuts: number;
  /** Connections lost in the last 24 hours. */
  reconnections: number;
}

type HealthScore = Omit<HealthOut, 'instance_id' | 'computed_at'>;
type Factor = HealthOut['factors'][number];
type ScoredFactor = Omit<Factor, 'label' | 'detail'> & {
  label: LocalText;
  detail: LocalText;
  recommendation?: LocalText;
};

const DAY_MS = 86_400_000;
const RECENT_MS = 7 * DAY_MS;

/**
 * Health score of an instance: 100 minus the penalties of its factors, and at least 0. It estimates the risk of a ban.
 * Pure: the caller supplies the counts.
 */
export function computeHealthScore(facts: HealthFacts, language: Language): HealthScore {
  const factors: ScoredFactor[] = [
    restriction(facts),
    ratio(RULES.delivery, facts.delivered, facts.sent),
    ratio(RULES.read, facts.read, facts.readable),
    ratio(RULES.reply, facts.newContactsWhoReplied, facts.newContacts),
    newContacts(facts),
    ratio(RULES.optOut, facts.optOuts, facts.contacts),
    ratio(RULES.failures, facts.failed, facts.sent + facts.failed),
    amount(RULES.reconnections, facts.reconnections, FACTS.today(facts.reconnections)),
    warmUp(facts),
  ];
  const penalties = factors.reduce((sum, { penalty }) => sum + penalty, 0);
  const score = Math.max(0, 100 - penalties);
  return {
    score,
    risk: score >= LOW_RISK ? 'low' : score >= MEDIUM_RISK ? 'medium' : 'high',
    warming_up: isWarmingUp(facts),
    warmup_ends_at: facts.warmUpEndsAt?.toISOString() ?? null,
    factors: factors.map(({ recommendation: _, label, detail, ...factor }) => ({
      ...factor,
      label: label[language],
      detail: detail[language],
    })),
    recommendations: factors.flatMap(({ recommendation }) => recommendation?.[language] ?? []),
  };
}

function ratio(rule: Rule, part: number, whole: number): ScoredFactor {
  if (whole < MIN_CASES) {
    const detail = FACTS.fewCases(whole);
    return { key: rule.key, label: rule.label, status: 'info', value: null, detail, penalty: 0 };
  }
  return amount(rule, part / whole, FACTS.ratio(part, whole));
}

function amount(rule: Rule, value: number, detail: LocalText): ScoredFactor {
  const { key, label, recommendation } = rule;
  const reached = ([at]: Step): boolean => (rule.side === 'below' ? value < at : value >= at);
  const base = { key, label, value: Math.round(value * 10_000) / 10_000, detail };
  const status = reached(rule.bad) ? 'bad' : reached(rule.attention) ? 'attention' : 'ok';
  if (status === 'ok') return { ...base, status, penalty: 0 };
  return { ...base, status, penalty: rule[status][1], recommendation };
}

/** With a limit of 0 the instance writes to no new contact, which is not unhealthy. */
function newContacts({ newContactsToday: count, newContactsLimit: limit }: HealthFacts): ScoredFactor {
  const share = limit === 0 ? 0 : count / limit;
  return amount(RULES.newContacts, share, FACTS.ofLimit(count, limit));
}

function restriction({ now, banned, restrictedUntil, bans }: HealthFacts): ScoredFactor {
  const base = { key: 'restrictions', label: FACTS.restrictions, value: bans };
  if (banned) {
    const { banned: recommendation } = RESTRICTION_ADVICE;
    return {
      ...base,
      status: 'bad',
      detail: FACTS.banned,
      penalty: RESTRICTION_PENALTIES.banned,
      recommendation,
    };
  }
  const { restricted: recommendation } = RESTRICTION_ADVICE;
  if (restrictedUntil !== null && now < restrictedUntil) {
    return {
      ...base,
      status: 'bad',
      detail: FACTS.restricted,
      penalty: RESTRICTION_PENALTIES.restricted,
      recommendation,
    };
  }
  const restrictedRecently =
    restrictedUntil !== null && now.getTime() - restrictedUntil.getTime() < RECENT_MS;
  if (bans > 0 || restrictedRecently) {
    const detail = bans > 0 ? FACTS.bans(bans) : FACTS.ended;
    const penalty = RESTRICTION_PENALTIES.recent;
    return { ...base, status: 'attention', detail, penalty, recommendation };
  }
  return { ...base, status: 'ok', detail: FACTS.none, penalty: 0 };
}

function isWarmingUp({ now, warmUpEndsAt }: HealthFacts): boolean {
  return warmUpEndsAt === null || now < warmUpEndsAt;
}

function warmUp(facts: HealthFacts): ScoredFactor {
  const base = { key: 'warm_up', label: FACTS.warmUp };
  if (!isWarmingUp(facts)) {
    return { ...base, status: 'ok', value: 0, detail: FACTS.warm, penalty: 0 };
  }
  const { now, warmUpEndsAt } = facts;
  const days = warmUpEndsAt && Math.ceil((warmUpEndsAt.getTime() - now.getTime()) / DAY_MS);
  return {
    ...base,
    status: 'attention',
    value: days,
    detail: days === null ? FACTS.notPaired : FACTS.daysLeft(days),
    penalty: WARM_UP_PENALTY,
    recommendation: WARM_UP_ADVICE,
  };
}

import type { TFunction } from 'i18next';
import type { components } from '../generated/api';

export type HealthFactor = components['schemas']['HealthOut']['factors'][number];

// The API writes its texts in Portuguese. The console builds its own, in its language, from key, status and value.

const NAMED = [
  'restrictions',
  'delivery_ratio',
  'read_ratio',
  'reply_ratio',
  'new_contacts',
  'opt_out_ratio',
  'failure_ratio',
  'reconnections',
  'warm_up',
] as const;
type Key = (typeof NAMED)[number];

const findKey = ({ key }: HealthFactor): Key | undefined => NAMED.find((known) => known === key);

export function nameFactor(factor: HealthFactor, t: TFunction): string {
  const key = findKey(factor);
  return key === undefined ? factor.label : t(`health.factors.${key}.name`);
}

/** Penalty of a number that is blocked at present. */
const BANNED = 100;

/** Advice about a factor that lowers the score; null if there is nothing to do. */
export function adviseFactor(factor: HealthFactor, t: TFunction): string | null {
  const key = findKey(factor);
  if (key === undefined || factor.penalty === 0) return null;
  const isBanned = key === 'restrictions' && factor.penalty === BANNED;
  return t(isBanned ? 'health.bannedAdvice' : `health.factors.${key}.advice`);
}

export function explainFactor(factor: HealthFactor, t: TFunction, language: string): string {
  const { status, value } = factor;
  const format = { style: 'percent', maximumFractionDigits: 1 } as const;
  const percent = (value ?? 0).toLocaleString(language, format);
  switch (findKey(factor)) {
    case undefined:
      return factor.detail;
    case 'restrictions':
      return explainRestriction(factor, t);
    case 'warm_up':
      if (status === 'ok') return t('health.details.warm');
      return value === null ? t('health.details.notPaired') : t('health.details.days', { count: value });
    case 'reconnections':
      return t('health.details.connections', { count: value ?? 0 });
    case 'new_contacts':
      return t('health.details.ofLimit', { percent });
    default:
      return status === 'info' ? t('health.details.fewCases') : t('health.details.ratio', { percent });
  }
}

function explainRestriction({ status, value, penalty }: HealthFactor, t: TFunction): string {
  if (status === 'bad') return t(penalty === BANNED ? 'health.details.banned' : 'health.details.restricted');
  if (status === 'ok') return t('health.details.none');
  return (value ?? 0) > 0 ? t('health.details.bans', { count: value ?? 0 }) : t('health.details.ended');
}

import { Text, Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** "5 minutes ago". Times older than 30 days are dates. */
export function formatRelative(time: string, language: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  if (Math.abs(seconds) > 30 * 86_400) return new Date(time).toLocaleDateString(language);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1)!;
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}

export const isFuture = (time: string, now = Date.now()): boolean => Date.parse(time) > now;

export const formatTime = (time: string, language: string): string =>
  new Date(time).toLocaleString(language, { dateStyle: 'short', timeStyle: 'medium' });

/** A time relative to now; the tooltip has the exact one. */
export function Time({ value }: { value: string }) {
  const { i18n } = useTranslation();
  return (
    <Tooltip label={formatTime(value, i18n.language)}>
      <Text component="time" dateTime={value} inherit>
        {formatRelative(value, i18n.language)}
      </Text>
    </Tooltip>
  );
}

/**
 * Local time in IANA time zones. Moments are milliseconds since 1970. `wall` is a local time, encoded as if it were
 * UTC.
 */
const DAY = 86_400_000;
const MINUTE = 60_000;

/** @returns the first moment at which the local time is `wall` or later */
export function firstMoment(wall: number, timezone: string): number {
  const candidates = [wall - offsetAt(wall - DAY, timezone), wall - offsetAt(wall + DAY, timezone)];
  const shown = candidates.filter((moment) => moment + offsetAt(moment, timezone) === wall);
  if (shown.length > 0) return Math.min(...shown);
  return findOffsetChange(Math.min(...candidates), Math.max(...candidates), timezone);
}

/** @returns the moment between two others at which the offset of the zone changes */
function findOffsetChange(before: number, after: number, timezone: string): number {
  const first = offsetAt(before, timezone);
  let low = before;
  let high = after;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle, timezone) === first) low = middle;
    else high = middle;
  }
  return high;
}

/** A format takes 60 kB. */
const MAX_FORMATS = 100;
/** Formats by zone. Zones are compared without case, because any letter case of a name is accepted. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  const name = timezone.toLowerCase();
  const known = formats.get(name);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
  if (formats.size >= MAX_FORMATS) formats.delete(formats.keys().next().value!);
  formats.set(name, format);
  return format;
}

/** @returns the milliseconds by which local time is ahead of UTC */
export function offsetAt(moment: number, timezone: string): number {
  const shown = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(formatOf(timezone).format(moment));
  if (!shown?.[1]) return 0;
  const [, sign, hours, minutes, seconds] = shown;
  const size = Number(hours) * 3_600_000 + Number(minutes) * MINUTE + Number(seconds ?? 0) * 1000;
  return sign === '-' ? -size : size;
}

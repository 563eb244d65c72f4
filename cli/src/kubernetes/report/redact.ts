/** Kinds that a report hides unless they were asked for. Secrets are always hidden. */
export type Included = 'numbers' | 'names' | 'content';

export interface Redaction {
  included: readonly Included[];
  /** Names that are known from the resources, hidden wherever they stand. */
  names: readonly string[];
}

const SECRET_KEYS =
  /^(?:.*(?:tokens?|secrets?|passwords?|passwd|pwd|credentials?|cookies?|signature|key)|authorization|qr|code_to_scan|pairing_code)$/i;
const NAME_KEYS = /^(?:display_?name|push_?name|verified_?name|business_?name|subject|notify|author|email)$/i;
const CONTENT_KEYS = /^(?:body|text|content|contents|caption|payload|conversation|quoted|description)$/i;
const NUMBER_KEYS = /^(?:phone|phone_?number|msisdn|jid|lid|participant|sender|recipient|chat|to|from)$/i;

/** Each replaces what a secret can look like in any text. */
const SECRETS: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]+-----[\s\S]{0,20000}?-----END [A-Z ]+-----/g, '[secret]'],
  [/\b(?:gwk_(?:live|test|eng)_|whsec_|gwkp_)[A-Za-z0-9_+/=-]+/g, '[secret]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, '[secret]'],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi, '$1 [secret]'],
  // Passwords can contain `/` and `@`, so it ends at the last `@`.
  [/:\/\/[^\s/@:"']{0,200}:[^\s"']{0,500}@/g, '://[secret]@'],
  [
    /((?:password|passwd|pwd|secret|token|api[_-]?key|signature|credential)s?\\?["']?\s*[=:]\s*)(?:\\"[^"]*"|"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s"',;&]+)/gi,
    '$1[secret]',
  ],
];
const ADDRESS = /[A-Za-z0-9._:+-]{1,80}@(?:s\.whatsapp\.net|c\.us|g\.us|lid|hosted|newsletter|broadcast)\b/g;
const EMAIL = /[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}\b/g;
/** 8 to 15 digits as people and networks write them; not a part of an id, a version or a time. */
const NUMBER = /(?<![A-Za-z0-9.])\+?\(?[0-9](?:[ ()-]{0,2}[0-9]){7,14}(?![A-Za-z0-9])/g;
const TIME = /^(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9](?: [0-2][0-9])?$/;

/** Hides parts of a text. Pure. */
export function redactText(text: string, { included, names }: Redaction): string {
  let shown = text;
  for (const [pattern, by] of SECRETS) shown = shown.replace(pattern, by);
  if (!included.includes('numbers')) {
    shown = shown
      .replace(ADDRESS, '[number]')
      .replace(NUMBER, (found) => (TIME.test(found) ? found : '[number]'));
  }
  if (!included.includes('names')) {
    shown = shown.replace(EMAIL, '[name]');
    for (const name of names) shown = shown.replaceAll(name, '[name]');
  }
  return shown;
}

/** Hides parts of a value by their keys, and of its texts by their form. Pure. */
export function redactValue(value: unknown, redaction: Redaction, key = ''): unknown {
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  const hidden = findHidden(key, redaction.included);
  if (hidden !== null) return hidden;
  if (typeof value === 'number') return redactNumber(value, key, redaction);
  if (typeof value === 'string') return redactString(value, redaction);
  if (Array.isArray(value)) return value.map((one) => redactValue(one, redaction));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      redactText(name, redaction),
      redactValue(one, redaction, name),
    ]),
  );
}

/** A status of a pod holds the last lines of a log as one text. */
const redactString = (text: string, redaction: Redaction): string =>
  text.includes('\n') || text.startsWith('{') ? redactLog(text, redaction) : redactText(text, redaction);

function findHidden(key: string, included: readonly Included[]): string | null {
  if (SECRET_KEYS.test(key)) return '[secret]';
  if (!included.includes('names') && NAME_KEYS.test(key)) return '[name]';
  if (!included.includes('content') && CONTENT_KEYS.test(key)) return '[content]';
  if (!included.includes('numbers') && NUMBER_KEYS.test(key)) return '[number]';
  return null;
}

const MEASURES = /(?:time|_at|_ms|_bytes|_seconds|bytes|generation)$/i;

function redactNumber(value: number, key: string, { included }: Redaction): unknown {
  const isLong = Number.isInteger(value) && value >= 1e7 && value < 1e15;
  return isLong && !MEASURES.test(key) && !included.includes('numbers') ? '[number]' : value;
}

/**
 * Redacts a log line by line. A line that is no JSON can be anything, a message too, so only frames of stacks are
 * kept.
 */
export function redactLog(log: string, redaction: Redaction): string {
  return log
    .split('\n')
    .map((line) => redactLine(line, redaction))
    .join('\n');
}

const FRAME = /^\s+at [\w.<>$ []/;

function redactLine(line: string, redaction: Redaction): string {
  if (line === '' || FRAME.test(line)) return redactText(line, redaction);
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return JSON.stringify(redactValue(value, redaction));
  } catch {
    // Not JSON.
  }
  return redaction.included.includes('content') ? redactText(line, redaction) : '[line that is not JSON]';
}

/** Keeps the values of metrics, which are no phone numbers, and redacts their labels. */
export function redactMetrics(text: string, redaction: Redaction): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"/g, (label) => redactText(label, redaction));
}

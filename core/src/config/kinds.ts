import { isIP } from 'node:net';

/**
 * Types of settings: each parses the text of an environment variable. Not zod, which would add 6 MB of memory to every
 * engine for a dozen settings.
 */
type ParseResult<T> = { ok: true; value: T } | { ok: false; fault: string };

export class Kind<T> {
  readonly #read: (text: string) => ParseResult<T>;
  readonly #absent: ParseResult<T>;

  constructor(
    read: (text: string) => ParseResult<T>,
    absent: ParseResult<T> = { ok: false, fault: 'not set' },
  ) {
    this.#read = read;
    this.#absent = absent;
  }

  read(text: string | undefined): ParseResult<T> {
    return text === undefined ? this.#absent : this.#read(text);
  }

  default(value: T): Kind<T> {
    return new Kind(this.#read, { ok: true, value });
  }

  optional(): Kind<T | undefined> {
    return new Kind<T | undefined>(this.#read, { ok: true, value: undefined });
  }
}

const good = <T>(value: T): ParseResult<T> => ({ ok: true, value });
const bad = (fault: string) => ({ ok: false, fault }) as const;

export const types = {
  integer: (min: number, max: number) =>
    new Kind<number>((text) => {
      const value = Number(text);
      const fits = /^-?\d+$/.test(text) && value >= min && value <= max;
      return fits ? good(value) : bad(`must be a whole number from ${min} to ${max}`);
    }),
  flag: () =>
    new Kind<boolean>((text) =>
      text === 'on' || text === 'off' ? good(text === 'on') : bad('must be on or off'),
    ),
  url: (...protocols: string[]) =>
    new Kind<string>((text) =>
      URL.canParse(text) && protocols.includes(new URL(text).protocol.slice(0, -1))
        ? good(text)
        : bad(`must be a URL that begins with ${protocols.map((p) => `${p}://`).join(' or ')}`),
    ),
  text: (min = 1, max = Number.MAX_SAFE_INTEGER) =>
    new Kind<string>((text) => {
      if (text.length < min) return bad(`must have at least ${min} characters`);
      return text.length > max ? bad(`must have at most ${max} characters`) : good(text);
    }),
  matching: (pattern: RegExp, meaning: string) =>
    new Kind<string>((text) => (pattern.test(text) ? good(text) : bad(`must be ${meaning}`))),
  oneOf: <const V extends string>(...values: V[]) =>
    new Kind<V>((text) => {
      const value = values.find((candidate) => candidate === text);
      return value === undefined ? bad(`must be one of ${values.join(', ')}`) : good(value);
    }),
  /** The result of a parser, whose error says what is wrong. */
  parsed: <T>(parse: (text: string) => T) =>
    new Kind<T>((text) => {
      try {
        return good(parse(text));
      } catch (error) {
        return bad((error as Error).message);
      }
    }),
  /** Origins of web pages, separated by commas. */
  origins: () =>
    new Kind<readonly string[]>((text) => {
      const origins = text.split(',').map((origin) => origin.trim());
      const wrong = origins.find((origin) => !isOrigin(origin));
      return wrong === undefined
        ? good(origins)
        : bad(`${JSON.stringify(wrong)} is not an origin like https://console.example.com`);
    }),
  /** Address ranges in CIDR notation, separated by commas. */
  ranges: () =>
    new Kind<readonly string[]>((text) => {
      const ranges = text.split(',').map((range) => range.trim());
      const wrong = ranges.find((range) => !isRange(range));
      return wrong === undefined
        ? good(ranges)
        : bad(`${JSON.stringify(wrong)} is not a range like 10.0.0.0/8`);
    }),
};

const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

function isRange(text: string): boolean {
  const [network = '', prefix = '', ...rest] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(network)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits && !network.includes('%');
}

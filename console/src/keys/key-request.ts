/** A program on the machine of the browser that asks for a key, such as `gwk login`. */
export interface KeyRequest {
  challenge: string;
  port: number;
  /** The program chooses it. */
  name: string;
}

const CHALLENGE = /^[0-9a-f]{64}$/;
/** Lower ports belong to services of the system. */
const LOWEST_PORT = 1024;
const HIGHEST_PORT = 65_535;
const MAX_NAME = 80;
/** Line breaks, and invisible characters that could change the order of a text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Reads the fragment of the address. Null: it is not that of a program. */
export function parseKeyRequest(fragment: string): KeyRequest | null {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const challenge = given.get('challenge') ?? '';
  const digits = given.get('port') ?? '';
  const port = Number(digits);
  if (!CHALLENGE.test(challenge) || !/^\d{4,5}$/.test(digits)) return null;
  if (port < LOWEST_PORT || port > HIGHEST_PORT) return null;
  const name = (given.get('name') ?? '').replace(INVISIBLE, '').trim();
  return { challenge, port, name: [...name].slice(0, MAX_NAME).join('') };
}

/** The terminal shows the same (cli/src/profiles/browser-login.ts). */
export const shortenChallenge = (challenge: string): string =>
  `${challenge.slice(0, 4)}-${challenge.slice(4, 8)}`.toUpperCase();

/** The code reaches this machine only, also if a stranger made the link. */
export const makeReturnAddress = ({ port }: KeyRequest, code: string): string =>
  `http://127.0.0.1:${port}/?code=${encodeURIComponent(code)}`;

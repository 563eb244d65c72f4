import { randomUUID } from 'node:crypto';

/** 1 to 128 printable ASCII characters (design: responses). */
const ACCEPTABLE = /^[\x20-\x7e]{1,128}$/;

/** The id that the client gave its request, or a new one (spec: `X-Request-ID`). */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && ACCEPTABLE.test(given) ? given : randomUUID();
}

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { PROGRAMS } from '../resources/console/platform.js';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Redis } from './redis.js';

/** The programs of the gateway that run now, with their versions. Only the console shows them, so they are in Redis alone. */

const NOTE_EVERY_MS = 60_000;
/** A program that has not noted its presence for so long does not run. */
const FRESH_MS = 150_000;

export interface Program {
  program: (typeof PROGRAMS)[number];
  version: string;
  host: string;
}

/** Version of this build. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

/** Notes a program, and forgets those that run no longer. */
export async function noteProgram(
  redis: Redis,
  keys: RedisKeys,
  { program, version, host }: Program,
  now = Date.now(),
): Promise<void> {
  await redis
    .multi()
    .zAdd(keys.programs, { score: now, value: JSON.stringify([program, version, host]) })
    .zRemRangeByScore(keys.programs, '-inf', now - FRESH_MS)
    .exec();
}

/** Notes this program once Redis is connected and then each minute. A failure shows in the console only. @returns ends it */
export function notePresence(redis: Redis, keys: RedisKeys, program: Program['program']): () => void {
  const note = (): void => {
    noteProgram(redis, keys, { program, version: VERSION, host: hostname() }).catch(() => undefined);
  };
  if (redis.isReady) note();
  redis.on('ready', note);
  const timer = setInterval(note, NOTE_EVERY_MS).unref();
  return () => {
    redis.off('ready', note);
    clearInterval(timer);
  };
}

const OPERATOR = /^gwk-operator\/([\w.+-]{1,50}) \(([\w.-]{1,253})\)$/;

/** Creates a function that notes the operator, which has no Redis, by the `User-Agent` of its calls: at most once a minute. */
export function createOperatorNote(redis: Redis, keys: RedisKeys, now: () => number = Date.now) {
  let last = { userAgent: '', at: -Infinity };
  return (userAgent: string | undefined): void => {
    const [, version, host] = OPERATOR.exec(userAgent ?? '') ?? [];
    if (version === undefined || host === undefined) return;
    if (last.userAgent === userAgent && now() - last.at < NOTE_EVERY_MS) return;
    last = { userAgent: userAgent!, at: now() };
    noteProgram(redis, keys, { program: 'operator', version, host }, now()).catch(() => undefined);
  };
}

export async function readPrograms(
  redis: Redis,
  keys: RedisKeys,
  now = Date.now(),
): Promise<(Program & { seen_at: string })[]> {
  const rows = await redis.zRangeByScoreWithScores(keys.programs, now - FRESH_MS, '+inf');
  return rows
    .map(({ value, score }) => {
      const [program, version, host] = JSON.parse(value) as [Program['program'], string, string];
      return { program, version, host, seen_at: new Date(score).toISOString() };
    })
    .sort((one, other) => PROGRAMS.indexOf(one.program) - PROGRAMS.indexOf(other.program));
}

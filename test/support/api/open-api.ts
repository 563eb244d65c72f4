import { processClock, type Clock } from '@gwk/core/clock';
import { createTestDatabase } from '../servers/database.js';
import { redisPrefix, redisUrl } from '../servers/servers.js';
import { endWithWorker } from '../shared.js';
import { TestApi, type TestApiOptions } from './test-api.js';

/**
 * Ages grow at a hundredth of their speed, and timers are those of the process: no request meets the API's own deadline
 * of 4.5 s on a busy machine.
 */
const SLOW_CLOCK: Clock = { ...processClock, now: () => processClock.now() / 100 };

let shared: Promise<TestApi> | undefined;

/**
 * The API with default settings that all test files of a worker share. It is started once and must not be stopped or
 * broken by a test. Test files keep apart by accounts of their own.
 */
export function sharedApi(): Promise<TestApi> {
  shared ??= openApi({ clock: SLOW_CLOCK }).then((api) => {
    endWithWorker(() => api.stop());
    return api;
  });
  return shared;
}

/** An API in this process with a database of its own, for tests that need other settings or stop it. */
export async function openApi(
  options: Partial<Pick<TestApiOptions, 'settings' | 'logLevel' | 'redisUrl' | 'clock'>> = {},
): Promise<TestApi> {
  const database = await createTestDatabase();
  return TestApi.start({
    databaseUrl: database.url,
    redisUrl: redisUrl(),
    redisPrefix: redisPrefix(),
    ...options,
    afterStop: () => database.drop(),
  });
}

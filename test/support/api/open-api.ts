import { processClock, type Clock } from '@gwk/core/clock';
import { createTestDatabase } from '../servers/database.js';
import { redisPrefix, redisUrl } from '../servers/servers.js';
import { endWithWorker } from '../shared.js';
import { TestApi, type TestApiOptions } from './test-api.js';

/**
 * Ages grow at 1 % of real time, and timers use real time. So no request reaches the API's deadline (4.5 s) on a busy
 * machine.
 */
const SLOW_CLOCK: Clock = { ...processClock, now: () => processClock.now() / 100 };

let shared: Promise<TestApi> | undefined;

/** Token of a portal that signs people in to the console. */
export const PLATFORM_TOKEN = 'platform-token-of-a-test-with-32-characters';

/** Few transfers, so that tests reach the bounds with few connections. All sign-ins come from one address. */
const SHARED_SETTINGS = {
  GWK_API_MAX_DOWNLOADS: '100',
  GWK_API_MAX_UPLOADS: '100',
  GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000',
  GWK_API_CONSOLE_PLATFORM_TOKEN: PLATFORM_TOKEN,
};

/**
 * API with default settings otherwise, shared by all test files of a jest worker. Tests must not stop or break it; each file uses
 * accounts of its own.
 */
export function sharedApi(): Promise<TestApi> {
  shared ??= openApi({ clock: SLOW_CLOCK, settings: SHARED_SETTINGS }).then((api) => {
    endWithWorker(() => api.stop());
    return api;
  });
  return shared;
}

/** Starts an API in this process with its own database. For tests that need other settings or stop it. */
export async function openApi(
  options: Partial<Pick<TestApiOptions, 'settings' | 'logLevel' | 'logTo' | 'redisUrl' | 'clock'>> = {},
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

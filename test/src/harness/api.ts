import { TestApi, type TestApiOptions } from '@gwk/api/testing/api';
import { createTestDatabase } from './database.js';
import { redisPrefix, redisUrl } from './servers.js';

/** An API in this process, on a database of its own that goes with it. */
export async function openApi(
  options: Partial<Pick<TestApiOptions, 'settings' | 'logLevel' | 'redisUrl'>> = {},
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

import { TestApi, type TestApiOptions } from './test-api.js';
import { createTestDatabase } from '../servers/database.js';
import { redisPrefix, redisUrl } from '../servers/servers.js';

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

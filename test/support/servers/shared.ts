import { createTemplateDatabase } from './database.js';
import { POSTGRES_VARIABLE, REDIS_VARIABLE, startTestServers, type TestServers } from './servers.js';

/** Starts what all test files of a run share, and tells it to the processes started from here on. */
export async function startSharedServers(): Promise<TestServers> {
  const servers = await startTestServers();
  try {
    await createTemplateDatabase(servers.postgresUrl);
  } catch (error) {
    await servers.stop();
    throw error;
  }
  process.env[POSTGRES_VARIABLE] = servers.postgresUrl;
  process.env[REDIS_VARIABLE] = servers.redisUrl;
  return servers;
}

import { createTemplateDatabase } from './database.js';
import { POSTGRES_VARIABLE, REDIS_VARIABLE, startTestServers, type TestServers } from './servers.js';

/** Starts the servers that all test files of a run share, and sets their addresses for child processes. */
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

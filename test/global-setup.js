import './support/typescript.js';

// jest runs this once before all test files of a run, in its main process.
export default async function setUp() {
  if (process.env.TEST_POSTGRES_URL) return;
  const { startSharedServers } = await import('@gwk/test/support/servers/shared');
  globalThis.sharedServers = await startSharedServers();
}

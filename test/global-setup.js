import './support/typescript.js';

// Jest runs this once per run in its main process, before all test files.
export default async function setUp() {
  if (process.env.TEST_POSTGRES_URL) return;
  const { startSharedServers } = await import('@gwk/test/support/servers/shared');
  globalThis.sharedServers = await startSharedServers();
}

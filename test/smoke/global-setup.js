import '../support/typescript.js';

// jest runs this once before all test files of this tier, in its main process.
export default async function setUp() {
  const { default: startServers } = await import('../global-setup.js');
  await startServers();
  const { startSharedGateway } = await import('./shared-gateway.js');
  await startSharedGateway();
}

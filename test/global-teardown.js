import './support/typescript.js';

export default async function tearDown() {
  const { endShared } = await import('@gwk/test/support/shared');
  await endShared();
  await globalThis.sharedServers?.stop();
}

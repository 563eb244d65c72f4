export default async function tearDown() {
  await globalThis.sharedServers?.stop();
}

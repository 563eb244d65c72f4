export default async function tearDown() {
  await globalThis.sharedCluster?.stop();
}

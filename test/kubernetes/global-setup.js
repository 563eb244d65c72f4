import '../support/typescript.js';

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * jest runs this once, in its main process, before the tiers that need Kubernetes. It builds missing programs (10
 * minutes the first time) and starts one control plane for all test files. A suite whose programs are missing reports
 * that itself (support/kubernetes/suite.ts).
 */
export default async function setUp() {
  const { KUBERNETES_VARIABLE, TestCluster } = await import('@gwk/test/support/kubernetes/test-cluster');
  if (process.env[KUBERNETES_VARIABLE] || !(await havePrograms())) return;
  globalThis.sharedCluster = await TestCluster.start();
  process.env[KUBERNETES_VARIABLE] = JSON.stringify(globalThis.sharedCluster.plane);
}

async function havePrograms() {
  const { ensureDefinitions } = await import('@gwk/test/support/chart/definitions');
  const { ensureHelm } = await import('@gwk/test/support/chart/helm-binary');
  const { ensureBinaries } = await import('@gwk/test/support/kubernetes/binaries');
  try {
    await ensureHelm(say);
    await ensureHelm(say, 3);
    ensureDefinitions(say);
    return 'binaries' in (await ensureBinaries(say));
  } catch (error) {
    say(`Kubernetes programs unavailable: ${error.message}`);
    return false;
  }
}

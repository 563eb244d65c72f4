import '../support/typescript.js';

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * jest runs this once, in its main process, before the tiers that need Kubernetes. It builds the programs that are
 * missing (10 minutes at the first time) and starts one control plane for all test files. Suites whose programs cannot
 * be had say so themselves (support/kubernetes/suite.ts).
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
    ensureDefinitions(say);
    return 'binaries' in (await ensureBinaries(say));
  } catch (error) {
    say(`the programs of Kubernetes cannot be had: ${error.message}`);
    return false;
  }
}

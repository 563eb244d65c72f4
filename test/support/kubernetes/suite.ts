import { findDefinitions } from '../chart/definitions.js';
import { findHelm } from '../chart/helm-binary.js';
import { findBinaries, type Found } from './binaries.js';
import { TestCluster } from './test-cluster.js';

const CONTROLLERS = 'kube-controller-manager';

export interface SuiteOptions {
  /** With what kube-controller-manager does; then it is a control plane of the file's own. */
  controllers?: boolean;
  /** With the chart rendered: helm is needed too. */
  chart?: boolean;
  /** With kinds that are no part of Kubernetes (support/chart/definitions.ts). */
  definitions?: boolean;
}

/**
 * Tests against a real etcd and kube-apiserver. Where these are not to be had the tests are skipped, and counted as
 * skipped, with the reason as a name; on CI (CI=true) that is a failure.
 */
export function describeOnKubernetes(
  title: string,
  tests: (cluster: () => TestCluster) => void,
  options: SuiteOptions = {},
): void {
  const found = foundFor(options);
  let cluster: TestCluster | undefined;
  const given = () => cluster!;
  if ('missing' in found) {
    if (process.env['CI'] === 'true') {
      return describe(title, () => {
        test(`needs Kubernetes: ${found.missing}`, () => {
          throw new Error(found.missing);
        });
      });
    }
    return describe.skip(`${title} (${found.missing})`, () => tests(given));
  }
  describe(title, () => {
    beforeAll(async () => {
      const { controllers = false } = options;
      cluster = await TestCluster.start({ controllers, own: controllers });
    });
    tests(given);
    // The last to be said is the last to be done: what the tests tidy up still needs the server.
    afterAll(() => cluster?.stop());
  });
}

/** Ready-made assets often are etcd and the API server alone. */
function foundFor({ controllers = false, chart = false, definitions = false }: SuiteOptions): Found {
  const found = findBinaries();
  for (const more of [chart && findHelm(), definitions && findDefinitions()])
    if (more && 'missing' in more) return more;
  if ('missing' in found || !controllers || found.binaries.has(CONTROLLERS)) return found;
  return { missing: `${found.binaries.folder} has no ${CONTROLLERS}`, canBuild: false };
}

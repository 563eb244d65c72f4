import { findDefinitions } from '../chart/definitions.js';
import { findHelm } from '../chart/helm-binary.js';
import { findBinaries, type Found } from './binaries.js';
import { TestCluster } from './test-cluster.js';

const CONTROLLERS = 'kube-controller-manager';

export interface SuiteOptions {
  /** Runs kube-controller-manager. The file then has its own control plane. */
  controllers?: boolean;
  /** Starts a control plane for this file alone, because it changes the CRD. */
  own?: boolean;
  /** Renders the chart, which needs helm. */
  chart?: boolean;
  /** Needs the older supported helm too. */
  helm3?: boolean;
  /** Installs CRDs of third-party kinds (support/chart/definitions.ts). */
  definitions?: boolean;
}

/**
 * Tests against a real etcd and kube-apiserver. Without them the tests are counted as skipped, with the reason in their
 * name. With CI=true they fail.
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
      const { controllers = false, own = controllers } = options;
      cluster = await TestCluster.start({ controllers, own });
    });
    tests(given);
    // afterAll hooks run in reverse order, so cleanups of the tests still have the server.
    afterAll(() => cluster?.stop());
  });
}

/** Ready-made assets often contain only etcd and the API server. */
function foundFor(options: SuiteOptions): Found {
  const found = findBinaries();
  for (const more of findMore(options)) if ('missing' in more) return more;
  if ('missing' in found || !options.controllers || found.binaries.has(CONTROLLERS)) return found;
  return { missing: `${found.binaries.folder} has no ${CONTROLLERS}`, canBuild: false };
}

function* findMore({ chart = false, helm3 = false, definitions = false }: SuiteOptions) {
  if (chart) yield findHelm();
  if (helm3) yield findHelm(3);
  if (definitions) yield findDefinitions();
}

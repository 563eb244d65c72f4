import { findHelm } from '../support/chart/helm-binary.js';

/** Tests with a real helm. Where there is none they are skipped, and counted; on CI (CI=true) that is a failure. */
export function describeChart(title: string, tests: () => void): void {
  const found = findHelm();
  if ('helm' in found) return describe(title, tests);
  if (process.env['CI'] !== 'true') return describe.skip(`${title} (${found.missing})`, tests);
  describe(title, () => {
    test(`needs helm: ${found.missing}`, () => {
      throw new Error(found.missing);
    });
  });
}

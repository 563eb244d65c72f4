import { findHelm } from '../support/chart/helm-binary.js';

/** Tests with a real helm. Without helm they are skipped; with CI=true they fail. */
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

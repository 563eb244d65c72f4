// Test tiers in running order. Every tier except `e2e` is a jest project (jest.config.js).

/**
 * `workers`: concurrent test files on two cores. Tests that wait, for processes or for the end of an outage, leave a core
 * idle, so they use three. Tests that measure crowds run alone.
 */
export const TIERS = {
  unit: { workers: 2 },
  integration: { workers: 3 },
  smoke: { workers: 3 },
  upgrade: { workers: 3 },
  processes: { workers: 2 },
  interop: { workers: 2 },
  console: { workers: 2 },
  kubernetes: { workers: 2 },
  chart: { workers: 2 },
  monitoring: { workers: 2 },
  load: { workers: 1 },
  chaos: { workers: 3 },
  e2e: { command: 'test/dist/e2e/main.js' },
};

/** Tiers of `make test`, after the checks. They need only npm packages and Redis. */
export const DEFAULT_TIERS = ['unit', 'integration', 'smoke'];

export const JEST_TIERS = Object.keys(TIERS).filter((name) => TIERS[name].command === undefined);

// The tiers of tests: jest projects (jest.config.js) in the order in which they run. Every tier but `e2e` is jest's.

/**
 * `workers`: test files at a time on two cores. Tests that wait for processes leave a core idle, so these take three.
 * Tests that judge times run alone.
 */
export const TIERS = {
  unit: { workers: 2 },
  integration: { workers: 3 },
  smoke: { workers: 3 },
  processes: { workers: 2 },
  interop: { workers: 2 },
  kubernetes: { workers: 2 },
  chart: { workers: 2 },
  monitoring: { workers: 2 },
  load: { workers: 1 },
  chaos: { workers: 1 },
  e2e: { command: 'test/dist/e2e/main.js' },
};

/** The tiers of `make test`, after the checks. They need npm packages and Redis, nothing else. */
export const DEFAULT_TIERS = ['unit', 'integration', 'smoke'];

export const JEST_TIERS = Object.keys(TIERS).filter((name) => TIERS[name].command === undefined);

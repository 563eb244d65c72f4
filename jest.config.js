// One project for each tier of tests. The tier of a test is its folder, or for tests beside their source its name.
const BESIDE_SOURCES = ['core', 'api', 'operator', 'engine-pod', 'local', 'test/network'].map(
  (name) => `<rootDir>/${name}/src`,
);
const OF_SUPPORT = ['support', 'bench', 'e2e', 'repository'].map((name) => `<rootDir>/test/${name}`);

const SERVERS = {
  globalSetup: '<rootDir>/test/global-setup.js',
  globalTeardown: '<rootDir>/test/global-teardown.js',
};

const tier = (name, more) => ({
  displayName: name,
  rootDir: import.meta.dirname,
  // Test files are imported by Node itself. Under jest's own runner each file would load all that it imports anew:
  // two thirds of the time of the API's tests.
  runner: ['jest-light-runner', { runtime: 'child_process' }],
  setupFiles: ['<rootDir>/test/support/typescript.js'],
  transform: {},
  ...more,
});

/** A folder of tests that need more than one process. */
const folder = (name) =>
  tier(name, { roots: [`<rootDir>/test/${name}`], testMatch: ['**/*.test.ts'], ...SERVERS });

export default {
  projects: [
    tier('unit', {
      roots: [...BESIDE_SOURCES, ...OF_SUPPORT],
      testMatch: ['**/*.test.ts', '!**/*.integration.test.ts'],
    }),
    tier('integration', {
      roots: [...BESIDE_SOURCES, ...OF_SUPPORT],
      testMatch: ['**/*.integration.test.ts'],
      ...SERVERS,
    }),
    ...['smoke', 'processes', 'interop', 'kubernetes', 'chart', 'monitoring', 'chaos'].map(folder),
  ],
};

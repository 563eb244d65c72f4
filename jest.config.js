import { JEST_TIERS } from './test/tiers.js';

// One project for each tier of tests. The tier of a test is its folder, or for tests beside their source its name.
const BESIDE_SOURCES = ['core', 'api', 'operator', 'engine-pod', 'local', 'test/network'].map(
  (name) => `<rootDir>/${name}/src`,
);
const OF_SUPPORT = ['support', 'bench', 'e2e', 'repository'].map((name) => `<rootDir>/test/${name}`);
const BESIDE = [...BESIDE_SOURCES, ...OF_SUPPORT];
/** Tests that need more than one process. */
const FOLDERS = JEST_TIERS.filter((name) => !['unit', 'integration'].includes(name));

const SERVERS = {
  globalSetup: '<rootDir>/test/global-setup.js',
  globalTeardown: '<rootDir>/test/global-teardown.js',
};

/** What all test files of a tier share. Its jest projects start it before the first of them. */
const CLUSTER = {
  globalSetup: '<rootDir>/test/kubernetes/global-setup.js',
  globalTeardown: '<rootDir>/test/kubernetes/global-teardown.js',
};
const GATEWAY = { ...SERVERS, globalSetup: '<rootDir>/test/smoke/global-setup.js' };
const NEEDS = { smoke: GATEWAY, kubernetes: CLUSTER, chart: CLUSTER };

/**
 * jest takes every word after --selectProjects for the name of a project. Words that name none are paths:
 * `jest --selectProjects unit core/src/policy`.
 */
function otherPaths() {
  const option = process.argv.findIndex((word) => /^--selectProjects(=|$)/.test(word));
  if (option < 0) return [];
  const after = process.argv.slice(option + 1);
  const end = after.findIndex((word) => word.startsWith('-'));
  const paths = after.slice(0, end < 0 ? undefined : end).filter((word) => !JEST_TIERS.includes(word));
  return paths.length === 0 ? [] : [`^(?!.*(${paths.join('|')}))`];
}

const tier = (name, more) => ({
  displayName: name,
  rootDir: import.meta.dirname,
  // Node itself imports the test files. jest's own runner loads all that a test file imports anew for each file,
  // which took half of the processor time of the tests beside their sources.
  runner: ['<rootDir>/test/runner.js', { runtime: 'child_process' }],
  setupFiles: ['<rootDir>/test/support/typescript.js'],
  transform: {},
  testPathIgnorePatterns: otherPaths(),
  ...more,
});

export default {
  projects: [
    tier('unit', { roots: BESIDE, testMatch: ['**/*.test.ts', '!**/*.integration.test.ts'] }),
    tier('integration', { roots: BESIDE, testMatch: ['**/*.integration.test.ts'], ...SERVERS }),
    ...FOLDERS.map((name) =>
      tier(name, {
        roots: [`<rootDir>/test/${name}`],
        testMatch: ['**/*.test.ts'],
        ...(NEEDS[name] ?? SERVERS),
      }),
    ),
  ],
};

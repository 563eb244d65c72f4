import { homedir } from 'node:os';
import { join } from 'node:path';
import { JEST_TIERS } from './test/tiers.js';

// One project per tier. The folder of a test determines its tier, or its name for tests beside their sources.
const BESIDE_SOURCES = [
  'core',
  'api',
  'decoder',
  'operator',
  'engine-pod',
  'local',
  'cli',
  'console',
  'test/network',
  'sdk/typescript',
].map((name) => `<rootDir>/${name}/src`);
const OF_SUPPORT = ['support', 'bench', 'e2e', 'repository'].map((name) => `<rootDir>/test/${name}`);
const BESIDE = [...BESIDE_SOURCES, ...OF_SUPPORT, '<rootDir>/scripts'];
/** Tiers with a folder of their own. */
const FOLDERS = JEST_TIERS.filter((name) => !['unit', 'integration', 'upgrade'].includes(name));

const SERVERS = {
  globalSetup: '<rootDir>/test/global-setup.js',
  globalTeardown: '<rootDir>/test/global-teardown.js',
};

/** Servers that all test files of a tier share; jest starts them before the first file. */
const CLUSTER = {
  globalSetup: '<rootDir>/test/kubernetes/global-setup.js',
  globalTeardown: '<rootDir>/test/kubernetes/global-teardown.js',
};
const GATEWAY = { ...SERVERS, globalSetup: '<rootDir>/test/smoke/global-setup.js' };
const NEEDS = { smoke: GATEWAY, kubernetes: CLUSTER, chart: CLUSTER };

/**
 * jest reads every word after --selectProjects as the name of a project. Here words without such a project are paths:
 * `jest --selectProjects unit api/src/policy`.
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
  // Jest stores there how long each file took, and starts the slowest first.
  cacheDirectory: join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gwk/jest'),
  rootDir: import.meta.dirname,
  // Node itself imports the test files, so modules are loaded once per worker. The default runner loads them for each
  // file, which took half of the processor time of unit and integration tests.
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
    tier('upgrade', {
      roots: ['<rootDir>/api/src'],
      testMatch: ['**/*.integration.test.ts'],
      ...SERVERS,
      globalSetup: '<rootDir>/test/upgrade/global-setup.js',
    }),
    ...FOLDERS.map((name) =>
      tier(name, {
        roots: [`<rootDir>/test/${name}`],
        testMatch: ['**/*.test.ts'],
        ...(NEEDS[name] ?? SERVERS),
      }),
    ),
  ],
};

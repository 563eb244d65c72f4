const workspaces = ['core', 'api', 'operator', 'engine-pod', 'local', 'test'];
/** Workspaces that do not live in a folder of their own name. */
const folders = { network: 'test/network' };
/** Workspaces whose tests need neither Postgres nor Redis. */
const withoutServers = new Set(['network']);

const swc = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

const project = (name) => ({
  displayName: name,
  rootDir: import.meta.dirname,
  roots: [`<rootDir>/${folders[name] ?? name}/src`],
  testEnvironment: 'node',
  testMatch: ['**/*.test.ts'],
  ...(!withoutServers.has(name) && {
    globalSetup: '<rootDir>/test/global-setup.js',
    globalTeardown: '<rootDir>/test/global-teardown.js',
  }),
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  moduleNameMapper: {
    '^@gwk/network/(.+)$': '<rootDir>/test/network/src/$1.ts',
    '^@gwk/([^/]+)/(.+)$': '<rootDir>/$1/src/$2.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
});

export default {
  // A busy machine of two cores starts servers slowly; what must be fast is measured by benchmarks.
  testTimeout: 30_000,
  // What a worker has run stays in its memory (nodejs/node#63186), some 25 MB for each file of the API, and each full
  // collection searches it. A worker whose heap has more than this is followed by a new one.
  workerIdleMemoryLimit: '512MB',
  projects: [...workspaces, ...Object.keys(folders)].map(project),
};

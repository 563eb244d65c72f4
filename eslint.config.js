import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import * as regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';
import constantTime from './test/repository/constant-time.js';

/** Workspaces that a workspace may import. */
const arrows = {
  core: [],
  api: ['core'],
  operator: ['core'],
  'engine-pod': ['core'],
  local: ['core'],
  console: [],
  network: ['core'],
  test: ['core', 'api', 'operator', 'engine-pod', 'local', 'network'],
};
/** Files of workspaces outside a folder of their name. */
const sources = {
  console: 'console/src/**/*.{ts,tsx}',
  network: 'test/network/src/**/*.ts',
  test: 'test/!(network)/**/*.ts',
};
/** Additional workspaces for tests: the test support, the local servers and the simulated network. */
const OF_TESTS = ['test', 'local', 'network'];

function arrow(workspace, files, allowed) {
  const names = allowed.length > 0 ? `(?!(${allowed.join('|')})/)` : '';
  const foreign = `^@gwk/${names}|^(\\.\\./)+((${Object.keys(arrows).join('|')})/src|test/support)/`;
  const message = `${workspace} may import only: ${allowed.join(', ') || 'no other workspace'}`;
  return {
    files,
    rules: {
      'no-restricted-imports': ['error', { patterns: [{ regex: foreign, message }] }],
      'no-restricted-syntax': [
        'error',
        { selector: `ImportExpression > Literal[value=/${foreign.replaceAll('/', '\\/')}/]`, message },
      ],
    },
  };
}

const boundaries = Object.entries(arrows).flatMap(([workspace, allowed]) => {
  const files = sources[workspace] ?? `${workspace}/src/**/*.ts`;
  const inTests = [...new Set([...allowed, workspace, ...OF_TESTS])];
  return [
    arrow(workspace, [files], allowed),
    arrow(workspace, [files.replace('*.ts', '*.test.ts'), files.replace('**', 'testing/**')], inTests),
  ];
});

export default tseslint.config(
  { ignores: ['**/dist/', '**/generated/', '**/coverage/', '.local/'] },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  {
    files: ['**/*.{ts,tsx,js}'],
    rules: {
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['{core,api,operator,engine-pod,local}/src/**/*.ts', 'examples/**/*.js'],
    ignores: ['**/*.test.ts'],
    plugins: { gwk: { rules: { 'constant-time': constantTime } }, regexp },
    rules: {
      'gwk/constant-time': 'error',
      // A text of a user must not hold the event loop: patterns take time that grows with its length, not its square.
      'regexp/no-super-linear-backtracking': ['error', { report: 'certain' }],
      'regexp/no-super-linear-move': ['error', { report: 'certain' }],
    },
  },
  { files: ['console/src/**'], extends: [reactHooks.configs.flat['recommended-latest']] },
  ...boundaries,
  { files: ['**/*.js'], languageOptions: { globals: nodeGlobals() } },
  // Off in tests: these rules took 44 % of the time of all rules, and an `any` in an assertion causes no fault.
  { files: ['test/**/*.ts', '**/*.test.ts'], rules: rulesOff(/no-unsafe-/) },
  { files: ['**/*.test.ts'], rules: { 'max-lines-per-function': 'off' } },
  {
    // Markup counts as lines, and conditional markup as branches.
    files: ['console/src/**/*.tsx'],
    rules: { 'max-lines-per-function': ['error', { max: 100 }], complexity: ['error', 16] },
  },
  {
    files: ['**/src/cli/**', '**/src/cli.ts', 'local/src/**', 'bin/**', 'test/**', '**/*.js'],
    rules: { 'no-console': 'off' },
  },
);

function rulesOff(pattern) {
  const rules = tseslint.configs.recommendedTypeChecked.flatMap((config) => Object.keys(config.rules ?? {}));
  return Object.fromEntries(rules.filter((rule) => pattern.test(rule)).map((rule) => [rule, 'off']));
}

function nodeGlobals() {
  const names = [
    'process',
    'console',
    'Buffer',
    'URL',
    'WebAssembly',
    'crypto',
    'setTimeout',
    'clearTimeout',
    'setInterval',
    'clearInterval',
    'fetch',
    'AbortSignal',
    'performance',
    'structuredClone',
    'setImmediate',
  ];
  return Object.fromEntries(names.map((name) => [name, 'readonly']));
}

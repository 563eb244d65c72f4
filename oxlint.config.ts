import { defineConfig, type OxlintOverride } from 'oxlint';

/** Workspaces that the workspace of a folder may import. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  api: ['core'],
  decoder: ['core'],
  operator: ['core'],
  'engine-pod': ['core'],
  local: ['core'],
  cli: ['core', 'client'],
  console: ['client'],
  'sdk/typescript': [],
  'test/network': ['core'],
};
/** Additional workspaces for tests: the test support, the local servers and the simulated network. */
const OF_TESTS = ['test', 'local', 'network'];
/** Rules against values of the type `any`. */
const NO_UNSAFE = [
  'argument',
  'assignment',
  'call',
  'enum-comparison',
  'function-type',
  'member-access',
  'return',
];

/** JavaScript modules in Node have these names. */
const GLOBALS = [
  ...['process', 'console', 'Buffer', 'URL', 'WebAssembly', 'crypto', 'fetch', 'AbortSignal', 'performance'],
  ...['structuredClone', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'],
];

const only = (...workspaces: string[]) => ({ 'gwk/workspace-imports': ['error', workspaces] as const });

const boundaries = Object.entries(ARROWS).flatMap(([folder, allowed]): OxlintOverride[] => {
  const own = folder.replace('test/', '').replace('sdk/typescript', 'client');
  return [
    { files: [`${folder}/src/**/*.{ts,tsx}`], rules: only(...allowed) },
    { files: [`${folder}/src/**/*.test.ts`], rules: only(...new Set([...allowed, own, ...OF_TESTS])) },
  ];
});

const lines = (max: number) => ['error', { max, skipBlankLines: true, skipComments: true }] as const;
const each = <T>(severity: T, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(names.map((name) => [name, severity]));

export default defineConfig({
  ignorePatterns: ['**/dist/', '**/generated/', '**/coverage/', '.local/'],
  plugins: ['typescript'],
  jsPlugins: ['./test/repository/lint-rules.js', 'eslint-plugin-regexp'],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  globals: each('readonly', GLOBALS),
  categories: { correctness: 'error' },
  rules: {
    // Wanted: it gives the characters of a text, and the fields of an object.
    'typescript/no-misused-spread': 'off',
    'max-depth': ['error', 3],
    'max-params': ['error', 4],
    'max-lines': lines(400),
    'max-lines-per-function': lines(60),
    complexity: ['error', 12],
    'no-console': 'error',
    eqeqeq: 'error',
    'no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    // Rules of ESLint's recommended configurations that are in other categories.
    ...each('error', [
      ...[
        'no-case-declarations',
        'no-fallthrough',
        'no-prototype-builtins',
        'no-redeclare',
        'no-array-constructor',
      ],
      ...['no-empty', 'no-regex-spaces', 'no-unexpected-multiline', 'preserve-caught-error'],
      ...['no-undef', 'no-useless-assignment'],
    ]),
  },
  overrides: [
    {
      files: ['**/*.{ts,tsx}'],
      rules: {
        'no-undef': 'off',
        'no-redeclare': 'off',
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        'typescript/consistent-type-imports': 'error',
        ...each('error', ['no-var', 'prefer-const', 'prefer-rest-params', 'prefer-spread']),
        ...each(
          'error',
          [
            ...['ban-ts-comment', 'no-misused-promises', 'only-throw-error', 'prefer-promise-reject-errors'],
            ...['restrict-plus-operands', 'no-empty-object-type', 'no-explicit-any', 'no-namespace'],
            ...['no-require-imports', 'no-unnecessary-type-assertion', 'no-unnecessary-type-constraint'],
            ...NO_UNSAFE.map((name) => `no-unsafe-${name}`),
          ].map((name) => `typescript/${name}`),
        ),
      },
    },
    {
      files: ['{core,api,decoder,operator,engine-pod,local,cli}/src/**/*.ts', 'examples/**/*.js'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'gwk/constant-time': 'error',
        // A text of a user must not hold the event loop: patterns take time that grows with its length, not its square.
        'regexp/no-super-linear-backtracking': ['error', { report: 'certain' }],
        'regexp/no-super-linear-move': ['error', { report: 'certain' }],
      },
    },
    {
      files: ['console/src/**'],
      plugins: ['react'],
      rules: { 'react/rules-of-hooks': 'error', 'react/unsupported-syntax': 'error' },
    },
    {
      files: ['test/**/*.ts'],
      rules: only('core', 'api', 'decoder', 'operator', 'engine-pod', 'local', 'cli', 'network', 'client'),
    },
    ...boundaries,
    // An `any` in an assertion causes no fault.
    {
      files: ['test/**/*.ts', '**/*.test.ts'],
      rules: each(
        'off',
        NO_UNSAFE.map((name) => `typescript/no-unsafe-${name}`),
      ),
    },
    {
      files: ['**/*.test.ts'],
      rules: { 'max-lines-per-function': 'off', 'typescript/require-array-sort-compare': 'off' },
    },
    // This script runs in pages.
    { files: ['test/console/page-script.js'], env: { browser: true } },
    { files: ['extension/*.js'], env: { browser: true }, globals: { chrome: 'readonly' } },
    {
      files: ['**/*.js'],
      rules: { 'typescript/unbound-method': 'off', 'typescript/require-array-sort-compare': 'off' },
    },
    {
      // Markup counts as lines, and conditional markup as branches.
      files: ['console/src/**/*.tsx'],
      rules: { 'max-lines-per-function': lines(100), complexity: ['error', 16] },
    },
    {
      files: ['**/src/cli/**', '**/src/cli.ts', 'local/src/**', 'bin/**', 'test/**', '**/*.js'],
      rules: { 'no-console': 'off' },
    },
  ],
});

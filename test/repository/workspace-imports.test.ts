import { RuleTester } from 'oxlint/plugins-dev';

/** Plain JavaScript without declarations. */
const RULE: string = './workspace-imports.js';

type Rule = Parameters<RuleTester['run']>[1];
const { default: rule } = (await import(RULE)) as { default: Rule };

const REPORTED: [sentence: string, code: string][] = [
  ['another workspace', "import { open } from '@gwk/api/database';"],
  ['its types', "import type { Api } from '@gwk/api/database';"],
  ['a type in place', "type Api = import('@gwk/api/database').Api;"],
  ['a later import', "const api = await import('@gwk/api/database');"],
  ['an export of its names', "export { open } from '@gwk/api/database';"],
  ['an export of all', "export * from '@gwk/api/database';"],
  ['the path of another workspace', "import { open } from '../../api/src/database.js';"],
  ['the path of an allowed workspace', "import { ids } from '../../core/src/ids.js';"],
  ['the path of the test support', "import { until } from '../../test/support/wait.js';"],
];
const ALLOWED: [sentence: string, code: string][] = [
  ['an allowed workspace', "import { ids } from '@gwk/core/ids';"],
  ['the own files', "import { ids } from '../core/ids.js'; export { other } from './other.js';"],
  ['packages', "import express from 'express'; import 'core/src/ids';"],
  ['exports without a source', 'export const one = 1; const two = 2; export { two };'],
];

const options = [['core']];
const code = { languageOptions: { parserOptions: { lang: 'ts' as const } }, options };
new RuleTester().run('workspace-imports', rule, {
  invalid: REPORTED.map(([sentence, text]) => ({
    ...code,
    name: `reports ${sentence}`,
    code: text,
    errors: 1,
  })),
  valid: ALLOWED.map(([sentence, text]) => ({ ...code, name: `allows ${sentence}`, code: text })),
});

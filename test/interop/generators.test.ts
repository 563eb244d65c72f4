import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { ROOT } from '../support/program.js';
import { hasPython, preparePython, runTool } from '../support/python.js';

// Generators of clients accept the OpenAPI document without a warning, and their output compiles. Go: sdk-pages.test.ts.

const mustRun = process.env['CI'] === 'true';
const WARNING = /warn|skipp|unsupported|missing|fail/i;
/** A name that a generator made up. */
const MADE_UP = /Type\d|_type_\d/;

const IMPORT_ALL = `
import importlib, pkgutil, python
for module in pkgutil.walk_packages(python.__path__, 'python.'): importlib.import_module(module.name)
`;

const folder = mkdtempSync(join(tmpdir(), 'gwk-generators-'));
const document = join(folder, 'openapi.json');
const resolveFrom = (place: string) => createRequire(join(ROOT, place, 'package.json')).resolve;

beforeAll(() => {
  const urls = { baseUrl: 'https://api.example.org', docsUrl: 'https://docs.example.org' };
  writeFileSync(document, JSON.stringify(openApiDocument({ operations: OPERATIONS, ...urls })));
});
afterAll(() => rmSync(folder, { recursive: true }));

function compileTypeScript(...files: string[]): void {
  const tsc = join(dirname(resolveFrom('.')('typescript7/package.json')), 'bin/tsc');
  const strict = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--lib',
    'es2023,dom,dom.iterable',
  ];
  runTool(process.execPath, [tsc, ...strict, '--module', 'preserve', '--types', '', ...files]);
}

test('openapi-typescript', () => {
  const tool = join(dirname(resolveFrom('console')('openapi-typescript/package.json')), 'bin/cli.js');
  const output = join(folder, 'api.d.ts');
  expect(runTool(process.execPath, [tool, document, '--output', output])).not.toMatch(WARNING);
  compileTypeScript(output);
  expect(readFileSync(output, 'utf8')).not.toMatch(MADE_UP);
});

test('@hey-api/openapi-ts', () => {
  const tool = join(ROOT, 'node_modules/@hey-api/openapi-ts/bin/run.js');
  const output = join(folder, 'hey-api');
  const log = runTool(process.execPath, [tool, '-i', document, '-o', output], { cwd: folder });
  expect(log).not.toMatch(WARNING);
  compileTypeScript(join(output, 'index.ts'));
  expect(readFileSync(join(output, 'types.gen.ts'), 'utf8')).not.toMatch(MADE_UP);
});

const withPython = hasPython || mustRun ? test : test.skip;
withPython(
  hasPython
    ? 'openapi-python-client'
    : 'openapi-python-client (needs Python 3.10, which is not installed here)',
  async () => {
    const bin = await preparePython();
    const output = join(folder, 'python');
    const args = ['generate', '--path', document, '--output-path', output, '--meta', 'none'];
    const env = { PATH: `${bin}:${process.env['PATH']}` };
    expect(runTool(join(bin, 'openapi-python-client'), args, { env })).not.toMatch(WARNING);
    const models = readdirSync(join(output, 'models'));
    expect(models.filter((name) => MADE_UP.test(name))).toEqual([]);
    runTool(join(bin, 'python'), ['-W', 'error', '-c', IMPORT_ALL], { cwd: folder });
  },
);

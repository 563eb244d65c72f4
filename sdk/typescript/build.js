// Builds the client into dist: `node sdk/typescript/build.js`. Types and the table of operations come from the OpenAPI
// description. It does nothing if no input has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { build } from 'vite';
import { makeTable, printTable } from './table.js';

const folder = import.meta.dirname;
const dist = join(folder, 'dist');
const generated = join(folder, 'src/generated');
const resolve = createRequire(import.meta.url).resolve;

const address = 'https://api.example.org';
const document = openApiDocument({ operations: OPERATIONS, baseUrl: address, docsUrl: address });
const description = JSON.stringify(document);

function hashInputs() {
  const hash = createHash('sha256').update(description);
  const sources = readdirSync(join(folder, 'src')).filter((name) => name.endsWith('.ts'));
  const files = [
    'build.js',
    'table.js',
    'package.json',
    'tsconfig.json',
    ...sources.sort().map((name) => `src/${name}`),
  ];
  for (const file of files) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}

function run(script, ...args) {
  const done = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8' });
  if (done.status === 0) return;
  process.stderr.write(`${done.stdout}${done.stderr}`);
  process.exit(1);
}

function generate() {
  mkdirSync(generated, { recursive: true });
  writeFileSync(join(generated, 'openapi.json'), description);
  const tool = join(resolve('openapi-typescript/package.json'), '../bin/cli.js');
  run(
    tool,
    join(generated, 'openapi.json'),
    '--default-non-nullable=false',
    '--output',
    join(generated, 'api.ts'),
  );
  writeFileSync(join(generated, 'operations.ts'), printTable(makeTable(document)));
}

const bundle = (format, name, external) =>
  build({
    root: folder,
    logLevel: 'warn',
    build: {
      target: 'es2022',
      minify: false,
      outDir: join(dist, name),
      emptyOutDir: false,
      lib: { entry: join(folder, 'src/index.ts'), formats: [format], fileName: () => 'index.js' },
      rolldownOptions: { external, output: { comments: { jsdoc: false } } },
    },
  });

const inputs = hashInputs();
const stamp = join(dist, '.inputs');
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== inputs) {
  rmSync(dist, { recursive: true, force: true });
  generate();
  run(join(resolve('typescript7/package.json'), '../bin/tsc'), '-p', join(folder, 'tsconfig.build.json'));
  // One set of declarations for both forms; the package.json of the folder says which form they describe.
  cpSync(join(dist, 'esm'), join(dist, 'cjs'), { recursive: true });
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
  await bundle('es', 'esm', [/^node:/, 'openapi-fetch', 'standardwebhooks']);
  // The default export of the CommonJS form of openapi-fetch is not what Node gives an importing module.
  await bundle('cjs', 'cjs', [/^node:/, 'standardwebhooks']);
  writeFileSync(stamp, inputs);
}

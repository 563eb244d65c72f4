// Builds the wheel of the client into dist: `node sdk/python/build.js`. The modules come from src, and from the OpenAPI
// document by openapi-python-client and generate.py. It does nothing if no input has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { preparePython } from '../../test/dist/support/python.js';
import { makeTable } from '../typescript/table.js';

const folder = import.meta.dirname;
const build = join(folder, 'build');
const dist = join(folder, 'dist');
const target = join(build, 'gwk_client');
const programs = await preparePython();

const address = 'https://api.example.org';
const document = openApiDocument({ operations: OPERATIONS, baseUrl: address, docsUrl: address });

/** The rows of the table as objects, with what the document says about the operation. */
function makeRows() {
  const groups = Object.entries(makeTable(document)).map(([group, rows]) => [
    group,
    Object.entries(rows).map(
      ([
        name,
        {
          row: [method, path, input, answer],
        },
      ]) => {
        const { operationId, summary } = document.paths[path][method.toLowerCase()];
        return { name, operationId, summary, method, path, input, answer };
      },
    ),
  ]);
  return Object.fromEntries(groups);
}

function hashInputs() {
  const hash = createHash('sha256').update(JSON.stringify([document, makeRows(), programs]));
  const patterns = ['*.{js,py,toml,md}', 'src/**/*.py', 'templates/*'];
  for (const file of globSync(patterns, { cwd: folder }).sort())
    hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}

function run(program, ...args) {
  const env = { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` };
  const done = spawnSync(join(programs, program), args, { cwd: folder, env, encoding: 'utf8' });
  if (done.status === 0) return;
  process.stderr.write(`${done.error ?? ''}${done.stdout}${done.stderr}`);
  process.exit(1);
}

function generate() {
  const [description, table, config] = ['openapi.json', 'table.json', 'config.json'].map((name) =>
    join(build, name),
  );
  mkdirSync(build, { recursive: true });
  writeFileSync(description, JSON.stringify(document));
  writeFileSync(table, JSON.stringify(makeRows()));
  writeFileSync(config, JSON.stringify({ literal_enums: true, post_hooks: [] }));
  cpSync(join(folder, 'src'), build, { recursive: true });
  for (const file of ['pyproject.toml', 'README.md']) cpSync(join(folder, file), join(build, file));
  const generated = ['--output-path', join(target, '_generated'), '--meta', 'none', '--config', config];
  const templates = ['--custom-template-path', join(folder, 'templates')];
  run('openapi-python-client', 'generate', '--path', description, ...generated, ...templates);
  run('python', 'generate.py', target, description, table);
}

const inputs = hashInputs();
const stamp = join(dist, '.inputs');
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== inputs) {
  for (const old of [dist, build]) rmSync(old, { recursive: true, force: true });
  generate();
  run('pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', dist, build);
  writeFileSync(stamp, inputs);
}

// Builds the console into dist: `node console/build.js`. With the argument `types`, it only checks the types. Its client is
// generated from the OpenAPI description, so a changed interface fails here. It does nothing if no input has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';

const folder = import.meta.dirname;
const dist = join(folder, 'dist');
const generated = join(folder, 'src/generated');
const resolve = createRequire(import.meta.url).resolve;

const address = 'https://api.example.org';
const operations = [...OPERATIONS, ...CONSOLE_OPERATIONS];
const description = JSON.stringify(openApiDocument({ operations, baseUrl: address, docsUrl: address }));

const INPUTS = ['src', 'index.html', 'vite.config.js', 'build.js', 'tsconfig.json', 'package.json'];
const OTHERS = ['../package-lock.json', '../sdk/typescript/dist/.inputs'].map((path) => join(folder, path));

function hashInputs() {
  const hash = createHash('sha256').update(description);
  for (const file of OTHERS) hash.update(readFileSync(file));
  const files = INPUTS.flatMap((path) => listFiles(join(folder, path)))
    .filter((file) => !file.startsWith(generated))
    .sort();
  for (const file of files) hash.update(file.slice(folder.length)).update(readFileSync(file));
  return hash.digest('hex');
}

function listFiles(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function run(script, ...args) {
  const done = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8' });
  if (done.status === 0) return;
  process.stderr.write(`${done.stdout}${done.stderr}`);
  process.exit(1);
}

function generateClient() {
  mkdirSync(generated, { recursive: true });
  writeFileSync(join(generated, 'openapi.json'), description);
  const tool = join(resolve('openapi-typescript/package.json'), '../bin/cli.js');
  run(tool, join(generated, 'openapi.json'), '--output', join(generated, 'api.d.ts'));
}

const checkTypes = () => run(join(resolve('typescript7/package.json'), '../bin/tsc'), '-p', folder);

const COMPRESSED = /\.(?:css|js|svg)$/;

/** `gwk api` sends the compressed files as they are. */
function compress() {
  for (const file of listFiles(join(dist, 'assets')).filter((name) => COMPRESSED.test(name))) {
    const bytes = readFileSync(file);
    // The best quality, which takes 4 s and makes scripts 7 % smaller than quality 9.
    writeFileSync(`${file}.br`, brotliCompressSync(bytes));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

const inputs = hashInputs();
const stamp = join(dist, '.inputs');
const isBuilt = existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs;
if (process.argv[2] === 'types') {
  generateClient();
  checkTypes();
} else if (!isBuilt) {
  rmSync(dist, { recursive: true, force: true });
  generateClient();
  checkTypes();
  run(join(resolve('vite/package.json'), '../bin/vite.js'), 'build', '--logLevel', 'warn');
  compress();
  writeFileSync(stamp, inputs);
}

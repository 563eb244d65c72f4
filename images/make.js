// Makes images without Docker and without a registry (`make images`), or only the folders that the Dockerfile copies:
//   node images/make.js [--registry R] [--tag T] [--output FOLDER] [program ...]
//   node images/make.js --roots FOLDER [program ...]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeArchive, makeLayer } from './archive.js';
import { makeProgram, makeRuntime } from './roots.js';
import { IMAGES } from './programs.js';
import { TEST_SERVERS } from './test-servers.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const ALL = { ...IMAGES, ...TEST_SERVERS };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    roots: { type: 'string' },
    output: { type: 'string', default: join(ROOT, '.images') },
    registry: { type: 'string', default: 'docker.io/library' },
    tag: { type: 'string', default: version },
  },
});

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `images: images contain the Node that makes them; ${process.version} is too old, use Node 24 or later\n`,
  );
  process.exit(1);
}
const names = positionals.length > 0 ? positionals : Object.keys(IMAGES);
const unknown = names.filter((name) => !(name in ALL));
if (unknown.length > 0) {
  process.stderr.write(
    `images: unknown image ${unknown.join(', ')}; known images: ${Object.keys(ALL).join(', ')}\n`,
  );
  process.exit(1);
}

if (values.roots) makeRoots(values.roots);
else await makeArchives();

function makeRoots(folder) {
  makeRuntime(join(folder, 'runtime'));
  for (const name of names) make(name, join(folder, name));
}

function make(name, folder) {
  const image = ALL[name];
  mkdirSync(folder, { recursive: true });
  if (image.make) image.make(ROOT, folder);
  else makeProgram(ROOT, image, folder);
}

async function makeArchives() {
  const work = mkdtempSync(join(tmpdir(), 'gwk-images-'));
  const { output, registry, tag } = values;
  mkdirSync(output, { recursive: true });
  try {
    makeRoots(work);
    const runtime = await makeLayer(join(work, 'runtime'), join(work, 'runtime.tar'));
    for (const name of names) {
      const image = ALL[name];
      const program = await makeLayer(join(work, name), join(work, `${name}.tar`));
      const layers = image.make ? [program] : [runtime, program];
      const file = join(output, `${image.title}.tar`);
      const reference = image.reference ?? `${registry}/${image.title}:${tag}`;
      makeArchive({ name: reference, version: tag, image, layers, revision: revision() }, file);
      const megabytes = layers.map(({ size }) => (size / 1e6).toFixed(1)).join(' + ');
      process.stdout.write(`${file}  ${reference}  ${megabytes} MB\n`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function revision() {
  const done = spawnSync('git', ['-C', ROOT, 'rev-parse', 'HEAD'], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : 'unknown';
}

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { ImageBuilder } from '../support/images/builder.js';
import { readConfig, readStages } from '../support/images/dockerfile.js';
import { copyContents } from '../support/images/folders.js';
import { ROOT } from '../support/program.js';

/** Plain JavaScript without declarations. */
const LICENCES: string = '../repository/licences.js';
interface Installed {
  name: string;
  license: string | undefined;
}
const { misplaced } = (await import(LICENCES)) as {
  misplaced: (image: string, packages: Installed[]) => string[];
};

/** The installed packages of a folder. */
function listPackages(app: string): Installed[] {
  const files = readdirSync(join(app, 'node_modules'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /(^|node_modules\/)(@[^/]+\/)?[^@/][^/]*\/package\.json$/.test(file))
    .map((file) => JSON.parse(readFileSync(join(app, 'node_modules', file), 'utf8')) as Installed)
    .filter(({ name }) => !name?.startsWith('@gwk/'));
}

/** The Dockerfile builds images that are enough to run, with the configuration that the chart expects. */
const NAMES = ['api', 'worker', 'decoder', 'operator', 'engine'];
const stages = readStages({ VERSION: '1', REVISION: 'r' });
let folder: string;
let builder: ImageBuilder | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-image-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the Dockerfile has no fault', () => {
  expect(validate(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))).toEqual([]);
});

/** Licences and ports of each image. */
const IMAGES: Record<string, [licenses: string, ports: number[]]> = {
  api: ['Apache-2.0', [8080, 8081, 8085]],
  worker: ['Apache-2.0', [8082]],
  decoder: ['Apache-2.0 AND GPL-2.0-or-later AND GPL-3.0-or-later AND LGPL-3.0-or-later', []],
  operator: ['Apache-2.0', [8083]],
  engine: ['GPL-3.0-only', [8084]],
};

test.each(NAMES)('%s: the Dockerfile sets user, command, ports and labels', (name) => {
  const [licenses, ports] = IMAGES[name]!;
  const label = (key: string) => `org.opencontainers.image.${key}`;
  expect(readConfig(stages, name)).toEqual({
    User: '65532:65532',
    ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
    Env: ['PATH=/usr/bin:/bin', 'NODE_ENV=production'],
    Entrypoint: ['/usr/bin/node', '/app/bin/gwk.js'],
    Cmd: [name],
    WorkingDir: '/app',
    Labels: {
      [label('title')]: `gwk-${name}`,
      [label('description')]: expect.stringContaining(`gwk ${name}: `) as string,
      [label('licenses')]: licenses,
      [label('source')]: 'https://github.com/gwk-dev/gwk',
      [label('version')]: '1',
      [label('revision')]: 'r',
    },
  });
});

test('the stages copy files of the repository that exist, and run scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const instructions = [...stages.values()].flatMap((stage) => stage.instructions);
  const copied = instructions
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from='))
    .flatMap(({ text }) => text.split(' ').slice(0, -1));
  expect(copied.length).toBeGreaterThan(8);
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const started = instructions.flatMap(({ text }) => [...text.matchAll(/npm run ([\w:]+)/g)]);
  expect(started.map(([, script]) => script)).toEqual(['prisma:generate', 'build']);
  for (const [, script] of started) expect(scripts).toHaveProperty([script!]);
});

/** Modules that each program loads at its start or later. */
const LOADED: Record<string, string[]> = {
  api: [
    'api/dist/programs/api.js',
    'api/dist/instances/kubernetes-desired-state.js',
    'api/dist/database/migrate.js',
    'api/dist/cli.js',
  ],
  worker: ['api/dist/programs/worker.js', 'api/dist/database/migrate.js'],
  decoder: [
    'decoder/dist/program.js',
    'decoder/dist/tool.js',
    'decoder/dist/pictures.js',
    'decoder/dist/sticker.js',
    'decoder/dist/page.js',
    'decoder/dist/run-ffmpeg.js',
  ],
  operator: [
    'operator/dist/cli/run-operator.js',
    'operator/dist/program-kubernetes.js',
    'operator/dist/cli/secrets/run.js',
    'operator/dist/secrets/certificate.js',
  ],
  engine: [
    'engine-pod/dist/program.js',
    'engine-pod/dist/driver/sandbox/driver.js',
    'engine-pod/dist/driver/baileys/driver.js',
  ],
};

/** Packages of other programs, and tools. */
const EXCLUDED: Record<string, string[]> = {
  api: ['sharp', 'fluent-ffmpeg', 'libheif-js', 'prisma'],
  worker: ['sharp', 'fluent-ffmpeg', 'libheif-js', 'prisma'],
  decoder: ['@prisma/client', 'pg', '@aws-sdk/client-s3', 'express', 'undici', 'prisma'],
  operator: ['prisma', 'typescript'],
  engine: ['@kubernetes/client-node', 'pg', '@img/sharp-linux-x64', 'undici'],
};

test.each(NAMES)('%s: its image contains everything it loads and no excluded package', async (name) => {
  const target = join(folder, 'images', name);
  const { layers } = await (builder ??= new ImageBuilder(join(folder, 'stages'))).build(name);
  for (const layer of layers) copyContents(layer, target);
  const app = join(target, 'app');
  for (const left of EXCLUDED[name]!)
    expect([left, existsSync(join(app, 'node_modules', left))]).toEqual([left, false]);
  const script = LOADED[name]!.map((file) => `await import(${JSON.stringify(join(app, file))});`).join('\n');
  const done = spawnSync(
    join(target, 'usr/bin/node'),
    ['--input-type=module', '-e', `${script}\nprocess.stdout.write('all');process.exit(0)`],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin' },
    },
  );
  expect([done.stdout, done.stderr]).toEqual(['all', '']);
  const help = spawnSync(process.execPath, [join(app, 'bin/gwk.js'), '--help'], {
    encoding: 'utf8',
    env: {},
  });
  expect(help.stdout).toContain(`  ${name} `);
});

test.each(NAMES)('%s: gwk is on the path of its image and starts with the Node of the image', (name) => {
  const target = join(folder, 'images', name);
  expect(readlinkSync(join(target, 'usr/bin/gwk'))).toBe('/app/bin/gwk.js');
  const [first] = readFileSync(join(target, 'app/bin/gwk.js'), 'utf8').split('\n');
  expect(first).toBe('#!/usr/bin/node');
  expect(statSync(join(target, 'app/bin/gwk.js')).mode & 0o111).toBe(0o111);
  expect(existsSync(join(target, 'usr/bin/sh'))).toBe(name === 'decoder');
});

test('only the API image contains the web console, with the licences of its packages', () => {
  for (const name of NAMES) {
    const dist = join(folder, 'images', name, 'app/console/dist');
    const held = existsSync(dist) ? readdirSync(dist).sort() : [];
    expect([name, held]).toEqual([
      name,
      name === 'api' ? ['.inputs', 'assets', 'index.html', 'licences.md'] : [],
    ]);
  }
});

test('only the engine image contains libsignal', () => {
  for (const name of NAMES) {
    const held = existsSync(join(folder, 'images', name, 'app/node_modules/libsignal'));
    expect([name, held]).toEqual([name, name === 'engine']);
  }
});

test.each(NAMES)('%s: its image contains no package that only another image may contain', (name) => {
  const held = listPackages(join(folder, 'images', name, 'app'));
  expect(held.length).toBeGreaterThan(1);
  expect(misplaced(name, held)).toEqual([]);
});

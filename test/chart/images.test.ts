import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

/** The Dockerfile and `make images` make equal images, and their contents are enough to run. */
interface ImageConfig {
  User: string;
  ExposedPorts: Record<string, object>;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Labels: Record<string, string>;
}
interface Images {
  IMAGES: Record<string, { title: string; without: string[] }>;
  makeConfig: (image: object, made: { version: string; revision: string }) => ImageConfig;
  makeProgram: (root: string, image: object, target: string) => { name: string }[];
}

let images: Images;
let folder: string;

beforeAll(async () => {
  const load = (file: string): Promise<object> => import(join(ROOT, 'images', file)) as Promise<object>;
  const parts = await Promise.all(['programs.js', 'archive.js', 'roots.js'].map(load));
  images = Object.assign({}, ...parts) as Images;
  folder = mkdtempSync(join(tmpdir(), 'gwk-image-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NAMES = ['api', 'worker', 'operator', 'engine'];

/** Instructions of a stage, after those of its base stages. */
function stage(name: string): [string, string][] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const stages = text.split(/^FROM /m).slice(1);
  const found = stages.find((one) => one.split('\n')[0]!.endsWith(` AS ${name}`))!;
  const [first = '', ...lines] = found.split('\n');
  const base = first.split(' ')[0]!;
  const own = lines
    .map((line) => /^([A-Z]+) +(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, instruction, rest]): [string, string] => [instruction!, rest!.trim()]);
  return [...(stages.some((one) => one.split('\n')[0]!.endsWith(` AS ${base}`)) ? stage(base) : []), ...own];
}

function readDockerfile(name: string): ImageConfig {
  const lines = stage(name);
  const last = (instruction: string): string => lines.filter(([one]) => one === instruction).at(-1)![1];
  const labels = [...last('LABEL').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, key, value]) => [
    key!,
    value!.replace('${VERSION}', '1').replace('${REVISION}', 'r'),
  ]);
  return {
    User: last('USER'),
    ExposedPorts: Object.fromEntries(
      last('EXPOSE')
        .split(' ')
        .map((port) => [`${port}/tcp`, {}]),
    ),
    Env: last('ENV').split(' '),
    Entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    Cmd: JSON.parse(last('CMD')) as string[],
    WorkingDir: last('WORKDIR'),
    Labels: Object.fromEntries(labels) as Record<string, string>,
  };
}

test.each(NAMES)('%s: the Dockerfile and make images have the same configuration', (name) => {
  expect(readDockerfile(name)).toEqual(
    images.makeConfig(images.IMAGES[name]!, { version: '1', revision: 'r' }),
  );
});

/** Modules that each program loads at its start or later. */
const LOADED: Record<string, string[]> = {
  api: [
    'api/dist/programs/api.js',
    'api/dist/database/migrate.js',
    'api/dist/database/wait-for-migrations.js',
    'api/dist/cli.js',
  ],
  worker: [
    'api/dist/programs/worker.js',
    'api/dist/media/tools/tool.js',
    'api/dist/media/tools/pictures.js',
    'api/dist/media/tools/ffmpeg.js',
    'api/dist/database/wait-for-migrations.js',
  ],
  operator: [
    'operator/dist/cli/run-operator.js',
    'operator/dist/program-kubernetes.js',
    'operator/dist/cli/secrets/run.js',
  ],
  engine: [
    'engine-pod/dist/program.js',
    'engine-pod/dist/driver/sandbox/driver.js',
    'engine-pod/dist/driver/baileys/driver.js',
  ],
};

test.each(NAMES)('%s: its image contains everything it loads and no excluded package', (name) => {
  const target = join(folder, name);
  const packages = images.makeProgram(ROOT, images.IMAGES[name]!, target).map((one) => one.name);
  for (const left of images.IMAGES[name]!.without) expect(packages).not.toContain(left);
  const app = join(target, 'app');
  const script = LOADED[name]!.map((file) => `await import(${JSON.stringify(join(app, file))});`).join('\n');
  const done = spawnSync(
    process.execPath,
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
  expect(help.stdout).toContain(`  ${name === 'worker' ? 'worker' : name} `);
});

test('only the engine image contains libsignal', () => {
  for (const name of NAMES) {
    const { status } = spawnSync('test', ['-e', join(folder, name, 'app/node_modules/libsignal')]);
    expect([name, status === 0]).toEqual([name, name === 'engine']);
  }
});

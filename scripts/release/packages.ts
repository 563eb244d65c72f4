import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ROOT, run } from './tools.ts';

/** The files of a release. The same commit gives the same bytes. */

export interface Release {
  version: string;
  /** Registry to publish to, with a path, without a scheme. */
  registry: string;
  /** The registry that the chart names. A rehearsal publishes to another one. */
  home: string;
  /** Digests of the images by program. */
  images: Record<string, string>;
}

/** Architectures of the executables, with the names that Node gives their platforms. */
const EXECUTABLES = { amd64: 'linux-x64', arm64: 'linux-arm64' };
/** npm compares it with the repository that the provenance names. */
const REPOSITORY = 'git+https://github.com/gwk-dev/gwk.git';
export const VERSION = /^\d+\.\d+\.\d+$/;

/** Files with another version. */
export function findOtherVersions(version: string): string[] {
  const manifests = [...globSync('{package.json,*/package.json,sdk/*/package.json}', { cwd: ROOT })];
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const places: [string, string | undefined][] = manifests.map((file) => [
    file,
    (JSON.parse(read(file)) as { version: string }).version,
  ]);
  const find = (file: string, pattern: RegExp) => places.push([file, pattern.exec(read(file))?.[1]]);
  find('charts/gwk/Chart.yaml', /^version: (.*)$/m);
  find('charts/gwk/Chart.yaml', /^appVersion: (.*)$/m);
  find('extension/manifest.json', /"version": "(.*)"/);
  find('cli/src/version.ts', /'(\d+\.\d+\.\d+[^']*)'/);
  find('sdk/python/pyproject.toml', /^version = "(.*)"$/m);
  find('Makefile', /^TAG \?= (.*)$/m);
  return places
    .filter(([, found]) => found !== version)
    .map(([file, found]) => `${file}: ${found ?? 'no version'}`);
}

/** Ends the process if the version is none, or if a file has another one. */
export function demandVersion(version: string): void {
  if (!VERSION.test(version)) {
    process.stderr.write('release: VERSION must be <major>.<minor>.<patch>\n');
    process.exit(2);
  }
  const others = findOtherVersions(version);
  if (others.length === 0) return;
  process.stderr.write(`release: VERSION=${version} is not the version of\n  ${others.join('\n  ')}\n`);
  process.exit(2);
}

/** The time of the commit, in seconds. Archives contain no other time. */
const readEpoch = (): number => Number(run('git', ['log', '-1', '--format=%ct'], { cwd: ROOT }));

/** Packs a folder as a compressed archive that depends on names, modes and bytes alone. */
function pack(folder: string, name: string, target: string): void {
  const epoch = readEpoch();
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const tar = ['--sort=name', `--mtime=@${epoch}`, ...owner, '--format=ustar', '-C', folder, '-c', name];
  const bytes = execFileSync('tar', tar, { maxBuffer: 2 ** 30 });
  writeFileSync(target, execFileSync('gzip', ['-9n'], { input: bytes, maxBuffer: 2 ** 30 }));
  // Helm takes the time of the file for the time of the chart in the registry.
  utimesSync(target, epoch, epoch);
}

/** Replaces a part that occurs once. @throws Error if it does not */
export function replaceOnce(text: string, part: string, by: string): string {
  const [before, after, ...others] = text.split(part);
  if (after === undefined || others.length > 0) throw new Error(`not found once: ${JSON.stringify(part)}`);
  return `${before}${by}${after}`;
}

/**
 * The chart with its version, and the addresses and digests of its images.
 * @param tree the repository
 */
export function packChart({ version, home, images }: Release, output: string, tree = ROOT): string {
  const work = mkdtempSync(join(tmpdir(), 'gwk-chart-'));
  const target = join(output, `gwk-${version}.tgz`);
  const digests = Object.entries(images);
  const edit = (file: string, change: (text: string) => string) =>
    writeFileSync(join(work, 'gwk', file), change(readFileSync(join(work, 'gwk', file), 'utf8')));
  try {
    cpSync(join(tree, 'charts/gwk'), join(work, 'gwk'), { recursive: true });
    edit('values.yaml', (text) =>
      replaceOnce(
        replaceOnce(text, "\n  registry: ''\n", `\n  registry: ${home}\n`),
        '\n  digests: {}\n',
        `\n  digests:${digests.map(([name, digest]) => `\n    ${name}: ${digest}`).join('')}\n`,
      ),
    );
    // Artifact Hub lists and scans them. The annotations end the file.
    const listed = digests.map(([name, digest]) => {
      const image = `${home}/gwk-${name}:${version}@${digest}`;
      return `    - name: gwk-${name}\n      image: ${image}\n`;
    });
    edit('Chart.yaml', (text) => {
      const named = text.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`);
      return `${named}  artifacthub.io/images: |\n${listed.join('')}`;
    });
    pack(work, 'gwk', target);
  } finally {
    rmSync(work, { recursive: true });
  }
  return target;
}

interface Manifest {
  private?: boolean;
  repository?: { url?: string; directory?: string };
}

/** Reasons for which npm refuses to publish a package with provenance. `npm publish --dry-run` does not report them. */
export function findManifestFaults({ private: hidden, repository }: Manifest): string[] {
  return [
    ...(hidden === undefined ? [] : ['it is private']),
    ...(repository?.url === REPOSITORY && repository.directory
      ? []
      : [`its repository is not ${REPOSITORY}`]),
  ];
}

function packNpm(folder: string, output: string, env: NodeJS.ProcessEnv): void {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest;
  const faults = findManifestFaults(manifest);
  if (faults.length > 0) throw new Error(`${folder} cannot be published: ${faults.join(', ')}`);
  run('npm', ['pack', '--silent', `./${folder}`, '--pack-destination', output], { cwd: ROOT, env });
}

/** The integrity of a file, in the form of package-lock.json. */
const readIntegrity = (file: string): string =>
  `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;

/**
 * The Node that becomes part of an executable. npm installs only that of this machine, so the other one is fetched from
 * the registry and compared with package-lock.json.
 */
function findNode(platform: string): string {
  const installed = join(ROOT, 'node_modules', `node-${platform}`, 'bin/node');
  if (existsSync(installed)) return installed;
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const { version, integrity } = packages[`node_modules/node-${platform}`]!;
  const folder = join(ROOT, '.images/node', `${platform}-${version}`);
  const node = join(folder, 'package/bin/node');
  if (existsSync(node)) return node;
  const work = `${folder}.part`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  run('npm', ['pack', '--silent', `node-${platform}@${version}`, '--pack-destination', work], { cwd: ROOT });
  const archive = join(work, `node-${platform}-${version}.tgz`);
  if (readIntegrity(archive) !== integrity)
    throw new Error(`node-${platform}@${version} differs from package-lock.json`);
  run('tar', ['-xzf', archive, '-C', work]);
  rmSync(archive);
  renameSync(work, folder);
  return node;
}

/** The clients: npm packages, the Python wheel and the command line. */
export function packClients(version: string, output: string): void {
  mkdirSync(output, { recursive: true });
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(readEpoch()) };
  const nodes = Object.values(EXECUTABLES).map((platform) => `${platform}=${findNode(platform)}`);
  run(process.execPath, ['cli/build.js', 'executable', ...nodes], { cwd: ROOT, env });
  for (const folder of ['sdk/typescript', 'cli/dist/package']) packNpm(folder, output, env);
  rmSync(join(ROOT, 'sdk/python/dist'), { recursive: true, force: true });
  run(process.execPath, ['sdk/python/build.js'], { cwd: ROOT, env });
  for (const wheel of globSync('sdk/python/dist/*.whl', { cwd: ROOT }))
    copyFileSync(join(ROOT, wheel), join(output, basename(wheel)));
  for (const [name, platform] of Object.entries(EXECUTABLES))
    packCommand(join(ROOT, `cli/dist/gwk-${platform}`), join(output, `gwk-${version}-linux-${name}.tar.gz`));
}

/** The command line under both of its names: krew wants `kubectl-gwk`. */
function packCommand(program: string, target: string): void {
  const work = mkdtempSync(join(tmpdir(), 'gwk-command-'));
  try {
    copyFileSync(program, join(work, 'kubectl-gwk'));
    copyFileSync(join(ROOT, 'LICENSE'), join(work, 'LICENSE'));
    pack(work, '.', target);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** SHA256SUMS of the files in a folder. */
export function writeSums(folder: string): void {
  const files = readdirSync(folder).filter((file) => !file.startsWith('SHA256SUMS'));
  const sum = (file: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex');
  const lines = files.sort().map((file) => `${sum(file)}  ${file}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

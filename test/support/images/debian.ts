import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unpackDebianPackages } from '../debian-package.js';
import { listCopied, type Instruction, type Stage } from './dockerfile.js';
import { copy, run } from './folders.js';

export const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/images');
const RELEASES: Readonly<Record<string, string>> = { 13: 'trixie' };
const ARCHIVE = 'http://deb.debian.org/debian';
const KEYRING = 'usr/share/keyrings/debian-archive-keyring.gpg';
/** Packages of the image debian:13 that commands of the Dockerfile use. */
const ESSENTIAL =
  'base-files bash coreutils dash diffutils dpkg findutils grep gzip libc-bin mawk perl-base sed tar util-linux';

const IMAGE = /\/debian:(\d+)(@|$)/;
const APT_INSTALL = /\bapt-get install -y --no-install-recommends (.+)$/;
const APT_SOURCE = /^apt-get source --download-only (\S+)$/;

export const isDebian = (image: string): boolean => IMAGE.test(image);

/**
 * Executes a stage that starts from Debian's image: a root file system of Debian's packages, with commands in a chroot. It
 * needs apt, and root or user namespaces.
 * @param wanted paths that other stages copy from it
 * @returns a folder with these paths, kept in the user's cache while the instructions stay the same
 */
export function makeDebianStage(stage: Stage, wanted: string[], repository: string): string {
  const kept = join(CACHE, readKey([stage.base, stage.instructions, wanted], stage.instructions, repository));
  if (existsSync(kept)) return kept;
  const work = `${kept}.${process.pid}`;
  const root = new DebianRoot(join(work, 'root'), IMAGE.exec(stage.base)![1]!);
  try {
    root.install(ESSENTIAL.split(' '));
    symlinkSync('mawk', join(root.path, 'usr/bin/awk'));
    let directory = '/';
    for (const { name, text } of stage.instructions) {
      if (name === 'WORKDIR') mkdirSync(join(root.path, (directory = text)), { recursive: true });
      else if (name === 'COPY') copyFiles(text, root.path, directory, repository);
      else if (name === 'RUN') root.run(text, directory);
    }
    for (const path of wanted) copy(join(root.path, path), join(work, 'kept', path));
    // Another process may have finished the same stage meanwhile.
    if (!existsSync(kept)) renameSync(join(work, 'kept'), kept);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return kept;
}

/** The packages of a base image of Debian, for example distroless. */
export function makeDebianBase(version: string, packages: string[]): string {
  const kept = join(CACHE, `base-${version}-${packages.join('-')}`);
  if (!existsSync(kept)) {
    const work = `${kept}.${process.pid}`;
    const root = new DebianRoot(join(work, 'root'), version);
    root.install(packages);
    // Another process may have finished the same packages meanwhile.
    if (!existsSync(kept)) renameSync(root.path, kept);
    rmSync(work, { recursive: true });
  }
  return kept;
}

/** Name in the cache for the result of instructions. It changes with the files that they copy. */
export function readKey(parts: unknown[], instructions: Instruction[], repository: string): string {
  const hash = createHash('sha256').update(JSON.stringify(parts));
  for (const path of listCopied(instructions)) hash.update(readFileSync(join(repository, path)));
  return hash.digest('hex').slice(0, 16);
}

/** @param folder that relative paths start from */
function copyFiles(text: string, root: string, folder: string, repository: string): void {
  const paths = text.split(/ +/);
  const to = paths.pop()!;
  const target = join(root, to.startsWith('/') ? to : join(folder, to));
  mkdirSync(target, { recursive: true });
  for (const path of paths) copyFileSync(join(repository, path), join(target, path.split('/').at(-1)!));
}

/** A root file system of unpacked packages, with the database of dpkg. Install scripts do not run. */
class DebianRoot {
  readonly #apt: string;
  readonly #options: string[];

  constructor(
    readonly path: string,
    version: string,
  ) {
    this.#apt = `${path}.apt`;
    for (const folder of ['state/lists/partial', 'cache/archives/partial'])
      mkdirSync(join(this.#apt, folder), { recursive: true });
    writeFileSync(join(this.#apt, 'status'), '');
    writeFileSync(
      join(this.#apt, 'debian.sources'),
      writeSources(RELEASES[version]!, findKeyring(this.#apt)),
    );
    const settings = {
      'Dir::State': join(this.#apt, 'state'),
      'Dir::Cache': join(this.#apt, 'cache'),
      'Dir::State::status': join(this.#apt, 'status'),
      'Dir::Etc::sourcelist': join(this.#apt, 'debian.sources'),
      'Dir::Etc::sourceparts': '/dev/null',
      'Debug::NoLocking': 'true',
    };
    this.#options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    mkdirSync(join(path, 'var/lib/dpkg/info'), { recursive: true });
    writeFileSync(join(path, 'var/lib/dpkg/status'), '');
    // Lists of packages for several architectures have the architecture in their names.
    writeFileSync(join(path, 'var/lib/dpkg/info/format'), '1\n');
  }

  install(packages: string[]): void {
    const archives = join(this.#apt, 'cache/archives');
    this.#runApt(archives, 'update');
    this.#runApt(archives, 'install', '-y', '--download-only', '--no-install-recommends', ...packages);
    const files = readdirSync(archives).filter((file) => file.endsWith('.deb'));
    for (const file of files) this.#unpack(join(archives, file));
    for (const file of files) rmSync(join(archives, file));
  }

  run(command: string, directory: string): void {
    const [, packages] = APT_INSTALL.exec(command) ?? [];
    if (packages !== undefined) return this.install(packages.split(/ +/));
    const [, source] = APT_SOURCE.exec(command) ?? [];
    if (source !== undefined)
      return this.#runApt(join(this.path, directory), 'source', '--download-only', source);
    const script = 'mount --rbind /dev "$1/dev" && exec chroot "$1" /usr/bin/env -i PATH="$2" sh -ec "$3"';
    const inside = `cd ${directory}; ${command}`;
    run('unshare', [
      ...['--map-root-user', '--mount', 'sh', '-ec', script],
      ...['sh', this.path, '/usr/sbin:/usr/bin', inside],
    ]);
  }

  #runApt(cwd: string, ...args: string[]): void {
    run('apt-get', [...this.#options, '-q', ...args], { cwd, env: process.env });
  }

  #unpack(file: string): void {
    const database = join(this.path, 'var/lib/dpkg');
    const control = run('dpkg-deb', ['--field', file]);
    const read = (field: string) => new RegExp(`^${field}: (.*)$`, 'm').exec(control)?.[1];
    const name =
      read('Multi-Arch') === 'same' ? `${read('Package')}:${read('Architecture')}` : read('Package');
    const list = join(database, 'info', `${name}.list`);
    if (existsSync(list)) return;
    run('dpkg-deb', ['--extract', file, this.path]);
    const { stdout } = spawnSync('sh', ['-c', 'dpkg-deb --fsys-tarfile "$0" | tar -t', file], {
      encoding: 'utf8',
    });
    // dpkg names the root `/.`, and folders without a slash at the end.
    const paths = stdout.replaceAll(/^\.\/$/gm, './.').replaceAll(/^\.|\/$/gm, '');
    writeFileSync(list, paths);
    const sums = spawnSync('dpkg-deb', ['--info', file, 'md5sums'], { encoding: 'utf8' }).stdout;
    writeFileSync(list.replace(/list$/, 'md5sums'), sums);
    appendFileSync(
      join(database, 'status'),
      control.replace('\n', '\nStatus: install ok installed\n') + '\n',
    );
  }
}

const writeSources = (release: string, keyring: string): string =>
  [
    [ARCHIVE, `${release} ${release}-updates`],
    [`${ARCHIVE}-security`, `${release}-security`],
  ]
    .map(([uri, suites]) =>
      [
        'Types: deb deb-src',
        `URIs: ${uri}`,
        `Suites: ${suites}`,
        'Components: main',
        `Signed-By: ${keyring}\n`,
      ].join('\n'),
    )
    .join('\n');

/** Debian's keys: those of this machine, otherwise from its package, which Ubuntu has too. */
function findKeyring(folder: string): string {
  const installed = join('/', KEYRING);
  if (existsSync(installed)) return installed;
  if (!unpackDebianPackages(['debian-archive-keyring'], join(folder, 'keys'), { dependencies: false }))
    throw new Error('install the package debian-archive-keyring to make images of Debian');
  return join(folder, 'keys/root', KEYRING);
}

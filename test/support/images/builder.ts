import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildAlone } from '../build-lock.js';
import { ROOT } from '../program.js';
import { CACHE, isDebian, makeDebianBase, makeDebianStage } from './debian.js';
import { listCopies, readConfig, readStages, type ImageConfig, type Stage } from './dockerfile.js';
import { copy, copyContents, makeUser, run } from './folders.js';

const RUNTIME = /^gcr\.io\/distroless\/cc-debian(\d+)/;
/** Packages of the runtime image that the programs use. */
const RUNTIME_PACKAGES = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'];
const BUILD = 'build';
/** Entries of the repository that the stage `build` does not contain, or that no later stage needs. */
const OMITTED = new Set(['.git', '.local', '.images', 'node_modules', 'docs', 'test', 'charts']);

export interface BuiltImage {
  /** Folders, each on top of the one before. */
  layers: string[];
  config: ImageConfig;
}

/**
 * Executes the stages of the Dockerfile in folders, without Docker and as any user. The stage `build` is this repository
 * after `make build`, with the Node of this machine. Its commands may use relative paths only. Debian's programs and
 * libraries come from its packages.
 */
export class ImageBuilder {
  readonly #stages: Map<string, Stage>;
  readonly #built = new Map<string, string[]>();

  constructor(
    readonly folder: string,
    args: Record<string, string> = {},
  ) {
    this.#stages = readStages(args);
  }

  /** All builders of this user share a cache, so one of them builds at a time. */
  build(name: string): Promise<BuiltImage> {
    return buildAlone(join(CACHE, 'lock'), () => ({
      layers: this.#layersOf(name),
      config: readConfig(this.#stages, name),
    }));
  }

  #layersOf(name: string): string[] {
    const layers = this.#built.get(name) ?? this.#execute(name);
    this.#built.set(name, layers);
    return layers;
  }

  #execute(name: string): string[] {
    const top = join(this.folder, name.replaceAll(/\W/g, '-'));
    mkdirSync(top, { recursive: true });
    const stage = this.#stages.get(name);
    if (!stage) return [makeBase(name, top)];
    if (name === BUILD) return [makeSource(top)];
    if (isDebian(stage.base)) return [makeDebianStage(stage, listCopies(this.#stages, name))];
    const base = this.#layersOf(stage.base);
    // Commands need the whole file system in one folder.
    const merged = stage.instructions.some((one) => one.name === 'RUN');
    if (merged) for (const layer of base) copyContents(layer, top);
    let directory = '/app';
    for (const { name: instruction, text } of stage.instructions) {
      if (instruction === 'WORKDIR') directory = text;
      else if (instruction === 'RUN') runCommand(text, join(top, directory));
      else if (instruction === 'COPY') this.#copy(text, join(top, directory), { top, base });
    }
    return merged ? [top] : [...base, top];
  }

  #copy(text: string, directory: string, { top, base }: { top: string; base: string[] }): void {
    const [, stage, list] = /^(?:--from=(\S+) )?(.*)$/.exec(text)!;
    const paths = list!.split(/ +/);
    const to = paths.pop()!;
    for (const path of paths) {
      const from = stage ? this.#find(stage, path) : join(ROOT, path);
      const target = to.startsWith('/') ? join(top, followLink(to, base)) : join(directory, to);
      if (path.endsWith('/')) copyContents(from, target);
      else copy(realpathSync(from), to.endsWith('/') ? join(target, basename(path)) : target);
    }
  }

  /** Where a file of a stage is on this machine. */
  #find(stage: string, path: string): string {
    if (stage === BUILD && path.startsWith('/app/')) return join(ROOT, path.slice('/app'.length));
    if (stage === BUILD) return path === '/usr/local/bin/node' ? process.execPath : path;
    const found = this.#layersOf(stage).map((layer) => join(layer, path));
    return found.findLast((file) => existsSync(file)) ?? found[0]!;
  }
}

/** Follows a link of the root folder, for example /bin of Debian. */
function followLink(path: string, layers: string[]): string {
  const [, first = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(path) ?? [];
  const link = layers.map((layer) => join(layer, first)).find((file) => isLink(file));
  return link === undefined ? path : join(readlinkSync(link), rest);
}

const isLink = (file: string): boolean =>
  lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;

function makeBase(image: string, root: string): string {
  const [, version] = RUNTIME.exec(image) ?? [];
  if (version === undefined) return root;
  copyContents(makeDebianBase(version, RUNTIME_PACKAGES), root);
  makeUser('nonroot', 65532, root);
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  return root;
}

function makeSource(root: string): string {
  const wanted = (path: string): boolean =>
    !OMITTED.has(path.slice(ROOT.length).replace(/^\//, '').split('/')[0]!) && !path.endsWith('.sock');
  copy(ROOT, join(root, 'app'), wanted);
  return root;
}

function runCommand(command: string, cwd: string): void {
  mkdirSync(cwd, { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  run('sh', ['-ec', command], { cwd, env: { PATH, HOME, npm_config_prefer_offline: 'true' } });
}

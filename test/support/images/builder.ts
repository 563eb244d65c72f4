import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync } from 'node:fs';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildAlone } from '../build-lock.js';
import { ROOT } from '../program.js';
import { CACHE, isDebian, makeDebianBase, makeDebianStage, readKey } from './debian.js';
import { isSelfContained, listCopies, listInstructions, readConfig, readStages } from './dockerfile.js';
import type { ImageConfig, Stage } from './dockerfile.js';
import { copy, copyContents, makeUser, run } from './folders.js';

const RUNTIME = /^gcr\.io\/distroless\/cc-debian(\d+)/;
/** Packages of the runtime image that the programs use. */
const RUNTIME_PACKAGES = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'];
const BUILD = 'build';

export interface BuiltImage {
  /** Folders, each on top of the one before. */
  layers: string[];
  config: ImageConfig;
}

/**
 * Executes the stages of a Dockerfile in folders, without Docker and as any user. The stage `build` is its repository
 * after `make build`, with the Node of this machine. Its commands may use relative paths only. Debian's programs and
 * libraries come from its packages.
 */
export class ImageBuilder {
  readonly #stages: Map<string, Stage>;
  readonly #built = new Map<string, string[]>();

  constructor(
    readonly folder: string,
    args: Record<string, string> = {},
    readonly repository = ROOT,
  ) {
    this.#stages = readStages(args, repository);
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
    const stage = this.#stages.get(name);
    if (!stage) return [makeBase(name, top)];
    if (isDebian(stage.base))
      return [makeDebianStage(stage, listCopies(this.#stages, name), this.repository)];
    // Commands need the whole file system in one folder.
    const merged = stage.instructions.some((one) => one.name === 'RUN');
    if (merged && isSelfContained(this.#stages, name)) return [this.#keep(name, stage)];
    if (stage.base === BUILD) this.#copySources(name, top);
    const base = stage.base === BUILD ? [] : this.#layersOf(stage.base);
    return merged ? [this.#fill(top, stage, base)] : [...base, this.#follow(top, stage, base)];
  }

  /** The stage from the user's cache. It depends on the stages, the files that it copies and Node alone. */
  #keep(name: string, stage: Stage): string {
    const instructions = listInstructions(this.#stages, name);
    const kept = join(
      CACHE,
      readKey([process.version, process.arch, instructions], instructions, this.repository),
    );
    if (existsSync(kept)) return kept;
    const half = `${kept}.half`;
    rmSync(half, { recursive: true, force: true });
    renameSync(this.#fill(half, stage, this.#layersOf(stage.base)), kept);
    return kept;
  }

  /** Copies the files of the stage `build` that later stages take from this one. Its commands make the others. */
  #copySources(name: string, top: string): void {
    for (const path of listCopies(this.#stages, name)) {
      const from = this.#find(BUILD, path);
      if (existsSync(from)) copy(from, join(top, path));
    }
  }

  /** Executes the instructions of a stage in a copy of the layers below it. */
  #fill(top: string, stage: Stage, base: string[]): string {
    for (const layer of base) copyContents(layer, top);
    return this.#follow(top, stage, base);
  }

  #follow(top: string, stage: Stage, base: string[]): string {
    mkdirSync(top, { recursive: true });
    let directory = '/app';
    for (const { name, text } of stage.instructions) {
      if (name === 'WORKDIR') directory = text;
      else if (name === 'RUN') runCommand(text, join(top, directory));
      else if (name === 'COPY') this.#copy(text, join(top, directory), { top, base });
    }
    return top;
  }

  #copy(text: string, directory: string, { top, base }: { top: string; base: string[] }): void {
    const [, stage, list] = /^(?:--from=(\S+) )?(.*)$/.exec(text)!;
    const paths = list!.split(/ +/);
    const to = paths.pop()!;
    for (const path of paths) {
      const from = stage ? this.#find(stage, path) : join(this.repository, path);
      const target = to.startsWith('/') ? join(top, followLink(to, base)) : join(directory, to);
      if (path.endsWith('/')) copyContents(from, target);
      else copy(realpathSync(from), to.endsWith('/') ? join(target, basename(path)) : target);
    }
  }

  /** Where a file of a stage is on this machine. */
  #find(stage: string, path: string): string {
    if (stage === BUILD && path.startsWith('/app/')) return join(this.repository, path.slice('/app'.length));
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
  mkdirSync(root, { recursive: true });
  const [, version] = RUNTIME.exec(image) ?? [];
  if (version === undefined) return root;
  copyContents(makeDebianBase(version, RUNTIME_PACKAGES), root);
  makeUser('nonroot', 65532, root);
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  return root;
}

function runCommand(command: string, cwd: string): void {
  mkdirSync(cwd, { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  run('sh', ['-ec', command], { cwd, env: { PATH, HOME, npm_config_prefer_offline: 'true' } });
}

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pushImages } from '@gwk/test/support/images/registry';
import { VERSION, type Edition, type Place, type Step } from '@gwk/test/support/release';
import { findObstacle, readHistory, useFormer } from './former.ts';
import { packChart, packClients, type Release } from './packages.ts';
import { PROGRAMS, publish, type Context, type Platforms } from './publish.ts';
import { ROOT, run } from './tools.ts';
import { INSTALLATION, runLikeStranger, SECTIONS, verify } from './verify.ts';

/** A release in a registry of this machine, signed with a key made for it. Nothing leaves the machine. */
export interface Rehearsal {
  place: Place;
  release: Release;
  platforms: Platforms;
  /** Digest of the chart. */
  chart: string;
  context: Context;
  /** Digests of everything that was published. */
  subjects: string;
  /** Replaces the first block of docs/verify.md. */
  settings: string;
  /** Folder of the reader of docs/verify.md. */
  folder: string;
}

export const PLATFORM = process.arch === 'arm64' ? 'arm64' : 'amd64';
const HOME = 'ghcr.io/gwk-dev';
const began = performance.now();

export const say = (line: string): void =>
  void process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

export function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
  say(what);
}

/** Nodes of the test cluster look there for the images of the release's home. */
const registryOf = ({ host }: Place): string => `${host}/gwk-dev`;

const findChart = (place: Place, version: string): string =>
  run('crane', ['digest', `${registryOf(place)}/charts/gwk:${version}`]).trim();

function writeEdition(place: Place, step: Step, { version, images }: Release, why?: string): void {
  const chart = `oci://${registryOf(place)}/charts/gwk@${findChart(place, version)}`;
  const edition: Edition = { version, chart, images, ...(why !== undefined && { why }) };
  writeFileSync(join(place.work, `${step}.json`), JSON.stringify(edition));
  say(`${version}: ${chart}`);
}

/** Publishes images and chart of a tree for this machine's architecture, without signatures. */
async function publishUnsigned(place: Place, tree: string, version: string): Promise<Release> {
  const registry = registryOf(place);
  const images = { registry, names: PROGRAMS, version, architectures: [PLATFORM], repository: tree };
  const release = {
    ...{ version, registry, home: HOME },
    images: (await pushImages(images))[PLATFORM]!,
  };
  const chart = packChart(release, place.work, tree);
  run('helm', ['push', chart, `oci://${registry}/charts`, '--plain-http']);
  return release;
}

/** Publishes these sources. */
export async function publishSources(place: Place): Promise<void> {
  writeEdition(place, 'unsigned', await publishUnsigned(place, ROOT, VERSION));
}

/** Publishes the former commit, or these sources in its place. */
export async function publishFormer(place: Place): Promise<void> {
  const version = `${VERSION}-previous`;
  const publishTree = async (tree: string, why?: string): Promise<void> =>
    writeEdition(place, 'former', await publishUnsigned(place, tree, version), why);
  const obstacle = findObstacle(readHistory()) ?? (await useFormer(place.work, publishTree));
  if (obstacle !== null) await publishTree(ROOT, obstacle);
}

/** Makes a key, and flags that sign with it: without services, so without a transparency log too. */
function makeKey(work: string): string[] {
  run('cosign', ['generate-key-pair'], { cwd: work });
  const [services, root] = [join(work, 'services.json'), join(work, 'root.json')];
  run('cosign', ['signing-config', 'create', '--out', services]);
  run('cosign', ['trusted-root', 'create', '--out', root]);
  return ['--key', join(work, 'cosign.key'), '--signing-config', services, '--trusted-root', root];
}

const settingsFor = (work: string, registry: string): string =>
  [
    `VERSION=${VERSION} REGISTRY=${registry}`,
    `SIGNER="--key ${join(work, 'cosign.pub')} --insecure-ignore-tlog=true"`,
    `PLATFORM=linux/${PLATFORM}`,
    'helm() { case $1 in pull | upgrade) command helm "$@" --plain-http ;; *) command helm "$@" ;; esac; }',
  ].join('\n');

/** Makes the release, publishes it with signatures, and verifies it as docs/verify.md says. */
export async function makeRelease(place: Place): Promise<void> {
  const registry = registryOf(place);
  const release: Release = { version: VERSION, registry, home: HOME, images: {} };
  const architectures = ['amd64', 'arm64'];
  const platforms = await pushImages({ registry, names: PROGRAMS, version: VERSION, architectures });
  say(`pushed ${PROGRAMS.length} images for ${architectures.join(' and ')} to ${registry}`);
  const output = join(ROOT, '.images/release', VERSION);
  rmSync(output, { recursive: true, force: true });
  packClients(VERSION, output);
  say('built the packages, the wheel and the executables');
  const context = { output, sign: makeKey(place.work), helm: ['--plain-http'] };
  const subjects = publish(release, platforms, context);
  say('published and signed:');
  process.stdout.write(subjects);
  const folder = join(place.work, 'stranger');
  mkdirSync(folder, { recursive: true });
  const chart = findChart(place, VERSION);
  const settings = settingsFor(place.work, registry);
  const rehearsal: Rehearsal = { place, release, platforms, chart, context, subjects, settings, folder };
  writeFileSync(join(place.work, 'rehearsal.json'), JSON.stringify(rehearsal));
  for (const section of SECTIONS) demandVerified(rehearsal, section, 'verified');
  writeEdition(place, 'release', release);
}

export const readRehearsal = ({ work }: Place): Rehearsal =>
  JSON.parse(readFileSync(join(work, 'rehearsal.json'), 'utf8')) as Rehearsal;

export function demandVerified(rehearsal: Rehearsal, section: string, what: string): void {
  const { ok, output } = verifySection(rehearsal, section);
  if (!ok) process.stderr.write(output);
  demand(ok, `docs/verify.md, ${section}: ${what}`);
}

/** In the reader's folder, except for the downloaded files. */
export const verifySection = ({ context, settings, folder }: Rehearsal, section: string, part = '') =>
  verify(section, settings, section === 'Files' ? context.output : folder, part);

/** Installs the release as docs/verify.md says, with values.yaml of the reader's folder. @param namespace its own */
export function install(place: Place, namespace: string): void {
  const { settings, folder } = readRehearsal(place);
  const script = INSTALLATION.replace('--namespace messages', `--namespace ${namespace}`);
  const { ok, output } = runLikeStranger(`${settings}\n${script}`, folder);
  process.stdout.write(ok ? '' : output);
  demand(ok, 'docs/verify.md, Install: installed');
}

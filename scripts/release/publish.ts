import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packChart, writeSums, type Release } from './packages.ts';
import { makeSbom, type Lock } from './sbom.ts';
import { ROOT, run } from './tools.ts';

/** Publishes what `make release-images` has pushed, with lists of contents, signatures and the chart. */

export const PROGRAMS = ['api', 'worker', 'decoder', 'operator', 'engine'];

export interface Context {
  /** Folder for the files of the release. */
  output: string;
  /** Flags of cosign. Without any it signs with the identity of the workflow. */
  sign: string[];
  /** Flags of Helm for the registry. */
  helm: string[];
}

/** Files of an image that describe its contents (sbom.ts), as patterns of tar. */
const LISTED = "'app/*package.json' 'var/lib/dpkg/*' usr/bin/node";

const imageOf = ({ registry, images }: Release, program: string): string =>
  `${registry}/gwk-${program}@${images[program]}`;

const readLock = (): Lock =>
  (JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages;

/** Digests of images by architecture and program. */
export type Platforms = Record<string, Record<string, string>>;

/** @param text `api@sha256:... worker@sha256:...`, as `make release-images` prints it */
export function parseDigests(text: string): Record<string, string> {
  const digests = Object.fromEntries(
    text
      .trim()
      .split(/\s+/)
      .map((one) => [one.split('@')[0]!, one.slice(one.indexOf('@') + 1)] as const),
  );
  const valid = PROGRAMS.every((program) => /^sha256:[0-9a-f]{64}$/.test(digests[program] ?? ''));
  if (!valid || Object.keys(digests).length !== PROGRAMS.length)
    throw new Error(`not one digest for each of ${PROGRAMS.join(', ')}: ${text}`);
  return digests;
}

interface Content {
  manifests?: { digest: string }[];
  layers?: { digest: string }[];
}

/**
 * Decides whether a tag is pushed: a step can be repeated, but never replaces a published version.
 * @param published manifest behind the tag; null: the tag does not exist
 * @param wanted digests of its images or layers
 * @throws Error if the tag has other contents
 */
export function needsPush(tag: string, published: Content | null, wanted: string[]): boolean {
  if (published === null) return true;
  const found = (published.manifests ?? published.layers ?? []).map(({ digest }) => digest);
  if ([...found].sort().join() === [...wanted].sort().join()) return false;
  throw new Error(`${tag} is published already, with other contents: ${found.join(', ')}`);
}

/** The manifest behind a tag. Null if the registry says that the tag does not exist. */
function readPublished(tag: string): Content | null {
  try {
    return JSON.parse(run('crane', ['manifest', tag])) as Content;
  } catch (error) {
    if (/\b(?:MANIFEST_UNKNOWN|NAME_UNKNOWN)\b/.test(String((error as { stderr?: unknown }).stderr)))
      return null;
    throw error;
  }
}

/** The images of one program by architecture. A builder may have pushed an index with further manifests. */
function findImages(repository: string, program: string, platforms: Platforms): [string, string][] {
  return Object.entries(platforms).map(([platform, digests]) => {
    const pushed = `${repository}@${digests[program]}`;
    return [platform, run('crane', ['digest', '--platform', `linux/${platform}`, pushed]).trim()];
  });
}

/** Joins the images of all architectures under the tag of the release. @returns its digest */
function joinPlatforms(repository: string, version: string, digests: string[]): string {
  const tag = `${repository}:${version}`;
  if (needsPush(tag, readPublished(tag), digests)) {
    const manifests = digests.flatMap((digest) => ['--manifest', `${repository}@${digest}`]);
    run('crane', ['index', 'append', ...manifests, '--tag', tag]);
  }
  return run('crane', ['digest', tag]).trim();
}

interface PlatformImage {
  program: string;
  platform: string;
  digest: string;
}

/** Writes the contents of the image of one architecture, and attaches them to it with a signature. */
function attachSbom(release: Release, { program, platform, digest }: PlatformImage, context: Context): void {
  const root = mkdtempSync(join(tmpdir(), 'gwk-sbom-'));
  try {
    const one = `${release.registry}/gwk-${program}@${digest}`;
    run('sh', ['-ec', `crane export "$1" - | tar -x -C "$2" --wildcards ${LISTED}`, 'sh', one, root]);
    const { version } = release;
    const sbom = makeSbom({ name: `gwk-${program}`, version, digest, platform }, root, readLock());
    const file = join(context.output, `gwk-${program}-${version}-linux-${platform}.cdx.json`);
    writeFileSync(file, JSON.stringify(sbom, null, 2));
    const args = ['--type', 'cyclonedx', '--predicate', file];
    run('cosign', ['attest', '--yes', ...context.sign, ...args, one]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Signs the images, and publishes the chart and the files of a release.
 * @param platforms the images in the registry. Tags can move, digests cannot
 * @param context its output folder has the clients already
 * @returns the digests of everything, like SHA256SUMS
 */
export function publish(release: Release, platforms: Platforms, context: Context): string {
  for (const program of PROGRAMS) {
    const repository = `${release.registry}/gwk-${program}`;
    const images = findImages(repository, program, platforms);
    const digests = images.map(([, digest]) => digest);
    release.images[program] = joinPlatforms(repository, release.version, digests);
    run('cosign', ['sign', '--yes', '--recursive', ...context.sign, imageOf(release, program)]);
    for (const [platform, digest] of images) attachSbom(release, { program, platform, digest }, context);
  }
  const chart = publishChart(release, context);
  writeSums(context.output);
  const sums = join(context.output, 'SHA256SUMS');
  run('cosign', ['sign-blob', '--yes', ...context.sign, '--bundle', `${sums}.sigstore.json`, sums]);
  const images = PROGRAMS.map((program) => [release.images[program]!, `gwk-${program}`]);
  const pushed = [...images, [chart, 'charts/gwk']].map(
    ([digest, name]) => `${digest!.replace('sha256:', '')}  ${release.registry}/${name}\n`,
  );
  return pushed.join('') + readFileSync(sums, 'utf8');
}

function publishChart(release: Release, { output, sign, helm }: Context): string {
  const repository = `${release.registry}/charts`;
  const tag = `${repository}/gwk:${release.version}`;
  const file = packChart(release, output);
  const layer = createHash('sha256').update(readFileSync(file)).digest('hex');
  if (needsPush(tag, readPublished(tag), [`sha256:${layer}`]))
    run('helm', ['push', file, `oci://${repository}`, ...helm]);
  const digest = run('crane', ['digest', tag]).trim();
  run('cosign', ['sign', '--yes', ...sign, `${repository}/gwk@${digest}`]);
  return digest;
}

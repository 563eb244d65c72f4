import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packChart, packClients, writeSums, type Release } from './packages.ts';
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

const imageOf = ({ registry, images }: Release, program: string): string =>
  `${registry}/gwk-${program}@${images[program]}`;

const readLock = (): Lock =>
  (JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages;

/** Joins the images of all architectures under the tag of the release. @returns its digest */
function joinPlatforms({ registry, version }: Release, program: string, platforms: string[]): string {
  const image = `${registry}/gwk-${program}:${version}`;
  const manifests = platforms.flatMap((platform) => ['--manifest', `${image}-${platform}`]);
  run('crane', ['index', 'append', ...manifests, '--tag', image]);
  return run('crane', ['digest', image]).trim();
}

/** Writes the contents of an image, and attaches them to it with a signature. */
function attachSbom(release: Release, program: string, platform: string, context: Context): void {
  const image = imageOf(release, program);
  const root = mkdtempSync(join(tmpdir(), 'gwk-sbom-'));
  try {
    const digest = run('crane', ['digest', '--platform', `linux/${platform}`, image]).trim();
    const one = `${release.registry}/gwk-${program}@${digest}`;
    run('sh', ['-ec', 'crane export "$1" - | tar -x -C "$2" app usr var', 'sh', one, root]);
    const { version } = release;
    const sbom = makeSbom({ name: `gwk-${program}`, version, digest, platform }, root, readLock());
    const file = join(context.output, `gwk-${program}-${version}-linux-${platform}.cdx.json`);
    writeFileSync(file, JSON.stringify(sbom, null, 2));
    const args = ['--type', 'cyclonedx', '--predicate', file];
    run('cosign', ['attest', '--yes', ...context.sign, ...args, image]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Signs the images, and publishes the chart and the files of a release.
 * @param platforms architectures whose images are in the registry, tagged `<version>-<architecture>`
 * @returns the digests of everything, like SHA256SUMS
 */
export function publish(release: Release, platforms: string[], context: Context): string {
  mkdirSync(context.output, { recursive: true });
  for (const program of PROGRAMS) {
    release.images[program] = joinPlatforms(release, program, platforms);
    run('cosign', ['sign', '--yes', '--recursive', ...context.sign, imageOf(release, program)]);
    for (const platform of platforms) attachSbom(release, program, platform, context);
  }
  packClients(release.version, context.output);
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
  run('helm', ['push', packChart(release, output), `oci://${repository}`, ...helm]);
  const digest = run('crane', ['digest', `${repository}/gwk:${release.version}`]).trim();
  run('cosign', ['sign', '--yes', ...sign, `${repository}/gwk@${digest}`]);
  return digest;
}

// Steps of a release: `node scripts/release/release.ts promises|files|publish|verify <version> <registry>`. The Makefile
// describes them.
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { demandVersion, packClients, writeSums } from './packages.ts';
import { parseDigests, publish } from './publish.ts';
import { prepareTools, ROOT } from './tools.ts';
import { SECTIONS, verify } from './verify.ts';

const [step = '', version = '', registry = ''] = process.argv.slice(2);
const folder = join(ROOT, '.images/release');
const output = join(folder, version);

/** Passes a value to the next jobs of the workflow. */
const hand = (name: string, value: string): void =>
  appendFileSync(process.env['GITHUB_OUTPUT'] || '/dev/stdout', `${name}=${value}\n`);
const digestSums = (): string =>
  createHash('sha256')
    .update(readFileSync(join(output, 'SHA256SUMS')))
    .digest('hex');

function makeFiles(): void {
  rmSync(output, { recursive: true, force: true });
  packClients(version, output);
  writeSums(output);
  hand('sums', digestSums());
}

/** Subjects of the build provenance: the files, the images and the chart. */
function publishAll(): void {
  const platforms = {
    amd64: parseDigests(process.env['IMAGES_AMD64'] ?? ''),
    arm64: parseDigests(process.env['IMAGES_ARM64'] ?? ''),
  };
  const context = { output, sign: [], helm: [] };
  const subjects = publish({ version, registry, home: registry, images: {} }, platforms, context);
  writeFileSync(join(folder, 'subjects'), subjects);
  hand('sums', digestSums());
}

/** Runs the commands of docs/verify.md. Its files are those that `publish` made. */
function verifyAll(): void {
  const stranger = join(folder, 'verified');
  rmSync(stranger, { recursive: true, force: true });
  mkdirSync(stranger, { recursive: true });
  const workflow = `https://github.com/gwk-dev/gwk/.github/workflows/release.yml@refs/tags/v${version}`;
  const issuer = 'https://token.actions.githubusercontent.com';
  const settings = [
    `VERSION=${version} REGISTRY=${registry}`,
    `SIGNER="--certificate-oidc-issuer=${issuer} --certificate-identity=${workflow}"`,
  ].join('\n');
  for (const section of SECTIONS) {
    const done = verify(section, settings, section === 'Files' ? output : stranger);
    process.stdout.write(`${section}: ${done.ok ? 'verified' : done.output}\n`);
    if (!done.ok) process.exitCode = 1;
  }
}

demandVersion(version);
if (step === 'promises') {
  // Only this step needs the sources of the interfaces with their packages.
  const { collectPromises, writePromises } = await import('./promises.ts');
  writePromises(collectPromises());
} else if (step === 'files') makeFiles();
else {
  await prepareTools({ needsCosign: true });
  if (step === 'publish') publishAll();
  else verifyAll();
}

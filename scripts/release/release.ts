// Steps of a release: `node scripts/release/release.ts promises|publish|verify <version> <registry>`. The Makefile
// describes them.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { demandVersion } from './packages.ts';
import { collectPromises, writePromises } from './promises.ts';
import { publish } from './publish.ts';
import { prepareTools, ROOT } from './tools.ts';
import { SECTIONS, verify } from './verify.ts';

const PLATFORMS = ['amd64', 'arm64'];
const [step = '', version = '', registry = ''] = process.argv.slice(2);
const folder = join(ROOT, '.images/release');
const output = join(folder, version);

/** Subjects of the build provenance: the files, the images and the chart. */
function publishAll(): void {
  rmSync(output, { recursive: true, force: true });
  const subjects = publish({ version, registry, home: registry, images: {} }, PLATFORMS, {
    output,
    sign: [],
    helm: [],
  });
  writeFileSync(join(folder, 'subjects'), subjects);
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
  for (const section of SECTIONS.keys()) {
    const done = verify(section, settings, section === 'Files' ? output : stranger);
    process.stdout.write(`${section}: ${done.ok ? 'verified' : done.output}\n`);
    if (!done.ok) process.exitCode = 1;
  }
}

demandVersion(version);
if (step === 'promises') writePromises(collectPromises());
else {
  await prepareTools();
  if (step === 'publish') publishAll();
  else verifyAll();
}

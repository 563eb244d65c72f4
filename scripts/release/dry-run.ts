// Makes a release on this machine, verifies it and expects that changed parts are refused: `make release-dry-run`.
// Nothing leaves the machine.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demandVersion, packChart, packClients, writeSums, type Release } from './packages.ts';
import { PROGRAMS, publish, type Context, type Platforms } from './publish.ts';
import { changeByte, pushImages, startRegistry, type LocalRegistry } from './registry.ts';
import { prepareTools, ROOT, run } from './tools.ts';
import { SECTIONS, verify } from './verify.ts';

const [version = ''] = process.argv.slice(2);
const PLATFORM = process.arch === 'arm64' ? 'arm64' : 'amd64';
const PLATFORMS = ['amd64', 'arm64'];
const began = performance.now();

const say = (line: string): void =>
  void process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
  say(what);
}

/** Builds the chart and the packages again from the same commit. */
function demandSameBytes(release: Release, output: string): void {
  const again = join(output, 'again');
  packClients(release.version, again);
  packChart(release, again);
  writeSums(again);
  const first = readFileSync(join(output, 'SHA256SUMS'), 'utf8');
  const second = readFileSync(join(again, 'SHA256SUMS'), 'utf8').trim().split('\n');
  for (const line of second) demand(first.includes(line), `built twice with the same bytes: ${line}`);
  rmSync(again, { recursive: true });
}

interface Rehearsal {
  release: Release;
  platforms: Platforms;
  chart: string;
  context: Context;
  registry: LocalRegistry;
  /** Replaces the first block of docs/verify.md. */
  settings: string;
}

interface Tampering {
  what: string;
  section: string;
  /** @returns how to undo it */
  change: () => () => void;
}

/** The digest of the first layer of a manifest. */
function firstLayer(reference: string): string {
  const { layers } = JSON.parse(run('crane', ['manifest', reference])) as { layers: { digest: string }[] };
  return layers[0]!.digest;
}

/** The digest of the signed SBOM of the engine's image of this architecture. */
function findSbom(repository: string, image: string): string {
  const index = run('crane', ['manifest', `${repository}:${image.replace(':', '-')}`]);
  const { manifests } = JSON.parse(index) as { manifests: { digest: string; annotations: object }[] };
  const found = manifests.find(({ annotations }) =>
    Object.values(annotations).includes('https://cyclonedx.org/bom'),
  );
  return firstLayer(`${repository}@${found!.digest}`);
}

function listTamperings({ release, platforms, chart, context, registry }: Rehearsal): Tampering[] {
  const engine = `${release.registry}/gwk-engine`;
  const image = platforms[PLATFORM]!['engine']!;
  const charts = `${release.registry}/charts/gwk`;
  const file = (name: string) => join(context.output, name);
  const inFile = (name: string): Tampering => ({
    what: `a byte of ${name}`,
    section: 'Files',
    change: () => changeByte(file(name)),
  });
  return [
    {
      what: 'the image behind its tag',
      section: 'Images',
      change() {
        const other = `${engine}:${version}-${PLATFORM}`;
        run('crane', ['mutate', other, '--annotation', 'a=b', '--tag', `${engine}:${version}`]);
        return () => run('crane', ['tag', `${engine}@${release.images['engine']}`, version]);
      },
    },
    {
      what: 'a byte of a layer in the registry',
      section: 'Images',
      change: () => changeByte(registry.blob(firstLayer(`${engine}@${image}`))),
    },
    {
      what: 'the chart behind its tag',
      section: 'Chart',
      change() {
        const changed = mkdtempSync(join(tmpdir(), 'gwk-changed-'));
        const other = packChart({ ...release, images: { ...release.images, engine: chart } }, changed);
        run('helm', ['push', other, `oci://${release.registry}/charts`, ...context.helm]);
        rmSync(changed, { recursive: true });
        return () => run('crane', ['tag', `${charts}@${chart}`, version]);
      },
    },
    {
      what: 'a byte of the chart in the registry',
      section: 'Chart',
      change: () => changeByte(registry.blob(firstLayer(`${charts}@${chart}`))),
    },
    {
      what: 'a byte of the SBOM in the registry',
      section: 'SBOM',
      change: () => changeByte(registry.blob(findSbom(engine, image))),
    },
    inFile(`gwk-${version}.tgz`),
    inFile(`gwk-engine-${version}-linux-${PLATFORM}.cdx.json`),
    inFile('SHA256SUMS'),
  ];
}

/** In a folder of its own, except for the downloaded files. */
function verifySection(section: string, { context, settings }: Rehearsal, folder: string) {
  return verify(section, settings, section === 'Files' ? context.output : folder);
}

function demandRefusals(rehearsal: Rehearsal, folder: string): void {
  for (const { what, section, change } of listTamperings(rehearsal)) {
    const undo = change();
    const { ok, output } = verifySection(section, rehearsal, folder);
    demand(!ok, `refused: ${what} (${output.trim().split('\n').at(-1)?.slice(0, 150)})`);
    undo();
    demand(verifySection(section, rehearsal, folder).ok, `accepted again without the change: ${what}`);
  }
}

async function rehearse(work: string): Promise<void> {
  const registry = await startRegistry(join(work, 'registry'));
  try {
    const release: Release = {
      version,
      registry: `${registry.host}/gwk`,
      home: 'ghcr.io/gwk-dev',
      images: {},
    };
    const platforms = await pushImages(release.registry, PROGRAMS, PLATFORMS, version);
    say(`pushed ${PROGRAMS.length} images for ${PLATFORMS.join(' and ')} to ${registry.host}`);
    run('cosign', ['generate-key-pair'], { cwd: work, env: { ...process.env, COSIGN_PASSWORD: '' } });
    process.env['COSIGN_PASSWORD'] = '';
    const output = join(ROOT, '.images/release', version);
    rmSync(output, { recursive: true, force: true });
    // Services of a signature: none, so no transparency log either.
    run('cosign', ['signing-config', 'create', '--out', join(work, 'services.json')]);
    run('cosign', ['trusted-root', 'create', '--out', join(work, 'root.json')]);
    const services = [
      '--signing-config',
      join(work, 'services.json'),
      '--trusted-root',
      join(work, 'root.json'),
    ];
    const keyed = ['--key', join(work, 'cosign.key'), ...services];
    const context = { output, sign: keyed, helm: ['--plain-http'] };
    packClients(version, output);
    const subjects = publish(release, platforms, context);
    say('published and signed:');
    process.stdout.write(subjects);
    const chart = run('crane', ['digest', `${release.registry}/charts/gwk:${version}`]).trim();
    const settings = [
      `VERSION=${version} REGISTRY=${release.registry}`,
      `SIGNER="--key ${join(work, 'cosign.pub')} --insecure-ignore-tlog=true"`,
      `PLATFORM=linux/${PLATFORM}`,
      'helm() { if [ "$1" = pull ]; then command helm "$@" --plain-http; else command helm "$@"; fi; }',
    ].join('\n');
    const rehearsal: Rehearsal = { release, platforms, chart, context, registry, settings };
    const folder = join(work, 'stranger');
    mkdirSync(folder);
    for (const section of SECTIONS.keys()) {
      const { ok, output: text } = verifySection(section, rehearsal, folder);
      if (!ok) process.stderr.write(text);
      demand(ok, `docs/verify.md, ${section}: verified`);
    }
    demandRefusals(rehearsal, folder);
    demandSameBytes(release, output);
    demand(
      publish(release, platforms, context) === subjects,
      'published again: the same images, chart and files',
    );
  } finally {
    registry.stop();
  }
}

demandVersion(version);
await prepareTools();
const work = mkdtempSync(join(tmpdir(), 'gwk-release-'));
try {
  await rehearse(work);
} finally {
  rmSync(work, { recursive: true, force: true });
}

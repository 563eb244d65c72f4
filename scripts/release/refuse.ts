import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBlob } from '@gwk/test/support/images/registry';
import type { Place } from '@gwk/test/support/release';
import { packChart, packClients, writeSums, type Release } from './packages.ts';
import { publish } from './publish.ts';
import {
  demand,
  demandVerified,
  PLATFORM,
  readRehearsal,
  verifySection,
  type Rehearsal,
} from './rehearsal.ts';
import { run } from './tools.ts';
import { SECTIONS } from './verify.ts';

/** Changes of a published release that the commands of docs/verify.md refuse. */

interface Tampering {
  what: string;
  section: string;
  /** Text of the blocks that refuse it. Default: all of the section. */
  part?: string;
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

function listTamperings({ place, release, platforms, chart, context }: Rehearsal): Tampering[] {
  const { registry, version } = release;
  const engine = `${registry}/gwk-engine`;
  const api = `${registry}/gwk-api@${platforms[PLATFORM]!['api']}`;
  const inBlob = (digest: string) => changeByte(findBlob(place.blobs, digest));
  const image = platforms[PLATFORM]!['engine']!;
  const charts = `${registry}/charts/gwk`;
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
      part: 'gwk-engine:$VERSION',
      change() {
        const other = `${engine}:${version}-${PLATFORM}`;
        run('crane', ['mutate', other, '--annotation', 'a=b', '--tag', `${engine}:${version}`]);
        return () => run('crane', ['tag', `${engine}@${release.images['engine']}`, version]);
      },
    },
    {
      what: 'a byte of a layer in the registry',
      section: 'Images',
      part: 'crane validate',
      change: () => inBlob(firstLayer(api)),
    },
    {
      what: 'the chart behind its tag',
      section: 'Chart',
      change() {
        const changed = mkdtempSync(join(tmpdir(), 'gwk-changed-'));
        const other = packChart({ ...release, images: { ...release.images, engine: chart } }, changed);
        run('helm', ['push', other, `oci://${registry}/charts`, ...context.helm]);
        rmSync(changed, { recursive: true });
        return () => run('crane', ['tag', `${charts}@${chart}`, version]);
      },
    },
    {
      what: 'a byte of the chart in the registry',
      section: 'Chart',
      change: () => inBlob(firstLayer(`${charts}@${chart}`)),
    },
    {
      what: 'a byte of the SBOM in the registry',
      section: 'SBOM',
      change: () => inBlob(findSbom(engine, image)),
    },
    inFile(`gwk-${version}.tgz`),
    inFile(`gwk-engine-${version}-linux-${PLATFORM}.cdx.json`),
    inFile('SHA256SUMS'),
  ];
}

/** Changes one byte in the middle of a file. @returns how to undo it */
function changeByte(file: string): () => void {
  const bytes = readFileSync(file);
  const changed = Buffer.from(bytes);
  const middle = bytes.length >> 1;
  changed[middle] = bytes[middle]! ^ 1;
  writeFileSync(file, changed);
  return () => writeFileSync(file, bytes);
}

function demandRefusals(rehearsal: Rehearsal): void {
  for (const { what, section, part, change } of listTamperings(rehearsal)) {
    const undo = change();
    const { ok, output } = verifySection(rehearsal, section, part);
    undo();
    demand(!ok, `refused: ${what} (${output.trim().split('\n').at(-1)?.slice(0, 150)})`);
  }
}

/** Expects that changed parts are refused, and that the same commit gives the same bytes. */
export function refuse(place: Place): void {
  const rehearsal = readRehearsal(place);
  demandRefusals(rehearsal);
  for (const section of SECTIONS) demandVerified(rehearsal, section, 'accepted again without the changes');
  const { release, platforms, context, subjects } = rehearsal;
  demandSameBytes(release, context.output);
  demand(
    publish(release, platforms, context) === subjects,
    'published again: the same images, chart and files',
  );
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

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Plain JavaScript without declarations. */
const LICENCES: string = '../../test/repository/licences.js';
const { findLicence } = (await import(LICENCES)) as { findLicence: (manifest: Manifest) => string | null };

/** The CycloneDX list of what an image contains, from its files: npm packages, Debian packages and Node. */

interface Component {
  type: string;
  name: string;
  version: string;
  purl: string;
  'bom-ref': string;
  licenses?: object[];
  hashes?: object[];
}

interface Manifest {
  name?: string;
  version?: string;
  license?: unknown;
}

export type Lock = Record<string, { integrity?: string }>;

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^@/.][^/]*\/package\.json$/;
const NODE_RELEASE = /https:\/\/nodejs\.org\/download\/release\/v([\d.]+)\//;
const read = (file: string): string => readFileSync(file, 'utf8');

interface Image {
  name: string;
  version: string;
  digest: string;
  /** Its architecture. */
  platform: string;
}

/**
 * @param root folder with the files of the image
 * @param lock packages of package-lock.json, with their hashes
 */
export function makeSbom({ name, version, digest, platform }: Image, root: string, lock: Lock): object {
  const components = [...listNpm(join(root, 'app'), lock), ...listDebian(root), ...findNode(root)];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'container',
        name,
        version,
        purl: `pkg:oci/${name}@${encodeURIComponent(digest)}?arch=${platform}`,
        'bom-ref': name,
        hashes: [{ alg: 'SHA-256', content: digest.replace('sha256:', '') }],
      },
    },
    components: components.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  };
}

/** The installed packages, also those that only the development of another workspace names. */
function listNpm(app: string, lock: Lock): Component[] {
  const found = new Map<string, Component>();
  for (const file of readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((one) =>
    PACKAGE.test(one),
  )) {
    const { name, version, license } = JSON.parse(read(join(app, file))) as Manifest;
    if (!name || !version || name.startsWith('@gwk/')) continue;
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const licence = findLicence({ name, license });
    const integrity = lock[file.replace('/package.json', '')]?.integrity;
    found.set(purl, {
      ...{ type: 'library', name, version, purl, 'bom-ref': purl },
      ...(licence !== null && { licenses: [{ expression: licence }] }),
      ...(integrity !== undefined && { hashes: [readIntegrity(integrity)] }),
    });
  }
  return [...found.values()];
}

function readIntegrity(integrity: string): object {
  const [algorithm = '', hash = ''] = integrity.split('-');
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(hash, 'base64').toString('hex') };
}

/** Images without a package manager describe their packages in this folder, as distroless images do. */
function listDebian(root: string): Component[] {
  const folder = join(root, 'var/lib/dpkg/status.d');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => !file.endsWith('.md5sums'))
    .map((file) => {
      const text = read(join(folder, file));
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1] ?? '';
      const [name, version] = [field('Package'), field('Version')];
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field('Architecture')}`;
      return { type: 'library', name, version, purl, 'bom-ref': purl };
    });
}

/** Node names its release in the address of its headers. */
function findNode(root: string): Component[] {
  const [, version] = NODE_RELEASE.exec(readFileSync(join(root, 'usr/bin/node'), 'latin1')) ?? [];
  if (version === undefined) return [];
  const purl = `pkg:generic/node@${version}`;
  return [{ type: 'application', name: 'node', version, purl, 'bom-ref': purl }];
}

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP, NODE, SOURCE, USER } from './programs.js';

/** Makes OCI archives from folders with tar only. Equal folders give equal archives. */

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const TYPES = 'application/vnd.oci.image';

/** @returns {Promise<{file: string, size: number, digest: string}>} the layer of a folder */
export async function makeLayer(folder, file) {
  const args = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  run('tar', [...args, '-C', folder, '-cf', file, '.']);
  return { file, size: statSync(file).size, digest: `sha256:${await readDigest(file)}` };
}

/**
 * @param {{name: string, version: string, image: import('./programs.js').Image, layers: object[], revision: string}} made
 * @param {string} target file
 */
export function makeArchive({ name, version, image, layers, revision }, target) {
  const folder = `${target}.parts`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  const put = (content) => {
    const bytes = Buffer.from(JSON.stringify(content));
    const digest = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(folder, 'blobs/sha256', digest), bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  for (const { file, digest } of layers) copyFileSync(file, join(folder, 'blobs/sha256', digest.slice(7)));
  const platform = { architecture: ARCHITECTURES[process.arch], os: 'linux' };
  const config = put({
    ...platform,
    config: makeConfig(image, { version, revision }),
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    history: layers.map(() => ({ created_by: 'make images' })),
  });
  const manifest = put({
    schemaVersion: 2,
    mediaType: `${TYPES}.manifest.v1+json`,
    config: { mediaType: `${TYPES}.config.v1+json`, ...config },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${TYPES}.layer.v1.tar`, digest, size })),
  });
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': version };
  const index = {
    schemaVersion: 2,
    manifests: [{ mediaType: `${TYPES}.manifest.v1+json`, ...manifest, platform, annotations }],
  };
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  run('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-C', folder, '-cf', target, '.']);
  rmSync(folder, { recursive: true });
  return manifest.digest;
}

/** The image configuration. A test compares it with the Dockerfile. */
export function makeConfig(image, { version, revision }) {
  return {
    User: `${USER}:${USER}`,
    ExposedPorts: Object.fromEntries(image.ports.map((port) => [`${port}/tcp`, {}])),
    Env: ['PATH=/usr/bin:/bin', 'NODE_ENV=production'],
    Entrypoint: image.entrypoint ?? [NODE, `${APP}/bin/gwk.js`],
    Cmd: [image.command].flat(),
    WorkingDir: APP,
    Labels: makeLabels(image, { version, revision }),
  };
}

function makeLabels({ title, description, licenses }, { version, revision }) {
  const label = (name) => `org.opencontainers.image.${name}`;
  return {
    [label('title')]: title,
    [label('description')]: description,
    [label('licenses')]: licenses,
    [label('source')]: SOURCE,
    [label('version')]: version,
    [label('revision')]: revision,
  };
}

function run(command, args) {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  if (done.error || done.status !== 0) throw new Error(`${command}: ${done.error?.message ?? done.stderr}`);
}

async function readDigest(file) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

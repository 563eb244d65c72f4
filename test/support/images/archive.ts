import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageConfig } from './dockerfile.js';
import { run } from './folders.js';

/** Makes OCI image layouts and archives from folders with tar only. */

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const TYPES = 'application/vnd.oci.image';

export interface Layer {
  file: string;
  size: number;
  digest: string;
}

/** The layer of a folder. */
export async function makeLayer(folder: string, file: string): Promise<Layer> {
  const args = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  run('tar', [...args, '-C', folder, '-cf', file, '.']);
  return { file, size: statSync(file).size, digest: `sha256:${await readDigest(file)}` };
}

export interface Archive {
  name: string;
  version: string;
  config: Partial<ImageConfig>;
  layers: Layer[];
}

/** @param target file */
export function makeArchive(archive: Archive, target: string): void {
  const folder = `${target}.parts`;
  rmSync(folder, { recursive: true, force: true });
  makeLayout(archive, folder);
  run('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-C', folder, '-cf', target, '.']);
  rmSync(folder, { recursive: true });
}

/** Writes an OCI image layout. @param folder that does not exist yet */
export function makeLayout({ name, version, config, layers }: Archive, folder: string): void {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  const put = (content: object) => {
    const bytes = Buffer.from(JSON.stringify(content));
    const digest = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(folder, 'blobs/sha256', digest), bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  for (const { file, digest } of layers) copyFileSync(file, join(folder, 'blobs/sha256', digest.slice(7)));
  const platform = { architecture: ARCHITECTURES[process.arch], os: 'linux' };
  const image = put({
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    history: layers.map(() => ({ created_by: 'test/support/images' })),
  });
  const manifest = put({
    schemaVersion: 2,
    mediaType: `${TYPES}.manifest.v1+json`,
    config: { mediaType: `${TYPES}.config.v1+json`, ...image },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${TYPES}.layer.v1.tar`, digest, size })),
  });
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': version };
  const index = {
    schemaVersion: 2,
    manifests: [{ mediaType: `${TYPES}.manifest.v1+json`, ...manifest, platform, annotations }],
  };
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
}

async function readDigest(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

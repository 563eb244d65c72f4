import { spawn } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, copyFileSync, linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ImageConfig } from './dockerfile.js';

/** Makes layers and OCI image layouts from folders with tar. */

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const TYPES = 'application/vnd.oci.image';
const CHUNK = 256 * 1024;

export interface Layer {
  file: string;
  size: number;
  digest: string;
  /** Digest without compression. */
  diffId: string;
}

/** The layer of a folder. The same contents give the same bytes. */
export async function makeLayer(folder: string, file: string): Promise<Layer> {
  const args = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  const tar = spawn('tar', [...args, '-C', folder, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(tar, 'close');
  const plain = createHash('sha256');
  const packed = createHash('sha256');
  // The fastest level: a test pushes and pulls it once.
  await pipeline(
    tar.stdout,
    pass(plain),
    createGzip({ level: 1, chunkSize: CHUNK }),
    pass(packed),
    createWriteStream(file),
  );
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`tar of ${folder} ended with ${code}`);
  const [diffId, digest] = [plain, packed].map((hash) => `sha256:${hash.digest('hex')}`) as [string, string];
  return { file, size: statSync(file).size, digest, diffId };
}

/** Passes bytes on after it has hashed them. */
const pass = (hash: Hash) =>
  async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      hash.update(chunk);
      yield chunk;
    }
  };

export interface Image {
  version: string;
  /** Default: that of this machine. */
  architecture?: string;
  config: Partial<ImageConfig>;
  layers: Layer[];
}

/** Layers are linked, because they are large. A link is impossible between file systems, and to a layer that is there. */
function place(file: string, target: string): void {
  try {
    linkSync(file, target);
  } catch {
    copyFileSync(file, target);
  }
}

/** Writes an OCI image layout. @param folder that does not exist yet */
export function makeLayout({ version, architecture, config, layers }: Image, folder: string): void {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  const put = (content: object) => {
    const bytes = Buffer.from(JSON.stringify(content));
    const digest = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(folder, 'blobs/sha256', digest), bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  for (const { file, digest } of layers) place(file, join(folder, 'blobs/sha256', digest.slice(7)));
  const platform = { architecture: architecture ?? ARCHITECTURES[process.arch], os: 'linux' };
  const image = put({
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created_by: 'test/support/images' })),
  });
  const manifest = put({
    schemaVersion: 2,
    mediaType: `${TYPES}.manifest.v1+json`,
    config: { mediaType: `${TYPES}.config.v1+json`, ...image },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${TYPES}.layer.v1.tar+gzip`, digest, size })),
  });
  const annotations = { 'org.opencontainers.image.ref.name': version };
  const index = {
    schemaVersion: 2,
    manifests: [{ mediaType: `${TYPES}.manifest.v1+json`, ...manifest, platform, annotations }],
  };
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
}

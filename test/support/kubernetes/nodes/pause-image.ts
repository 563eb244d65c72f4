import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodePrograms } from './programs.js';
import { PAUSE_IMAGE } from './settings.js';

const TYPES = 'application/vnd.oci.image';
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Creates the pause image, which contains one file, as an OCI archive. */
export function pauseArchive({ containerd }: NodePrograms, work: string): string {
  const folder = join(work, 'pause');
  const blobs = join(folder, 'image/blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  mkdirSync(join(folder, 'layer'));
  copyFileSync(join(containerd, 'pause'), join(folder, 'layer/pause'));
  execFileSync('tar', ['-C', join(folder, 'layer'), '-cf', join(folder, 'layer.tar'), 'pause']);
  const put = (bytes: Buffer) => {
    const hash = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(blobs, hash), bytes);
    return { digest: `sha256:${hash}`, size: bytes.length };
  };
  const json = (content: object) => put(Buffer.from(JSON.stringify(content)));
  const layer = put(readFileSync(join(folder, 'layer.tar')));
  const platform = { architecture: ARCHITECTURES[process.arch], os: 'linux' };
  const config = json({
    ...platform,
    config: { Entrypoint: ['/pause'], User: '65532:65532' },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: `${TYPES}.manifest.v1+json`,
    config: { mediaType: `${TYPES}.config.v1+json`, ...config },
    layers: [{ mediaType: `${TYPES}.layer.v1.tar`, ...layer }],
  });
  const annotations = { 'io.containerd.image.name': PAUSE_IMAGE };
  const described = { mediaType: `${TYPES}.manifest.v1+json`, ...manifest, platform, annotations };
  writeFileSync(
    join(folder, 'image/index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [described] }),
  );
  writeFileSync(join(folder, 'image/oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const archive = join(work, 'pause.tar');
  execFileSync('tar', ['-C', join(folder, 'image'), '-cf', archive, '.']);
  return archive;
}

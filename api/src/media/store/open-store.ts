import { FolderStore } from './folder-store.js';
import type { MediaStore, MediaStoreConfig } from './store.js';

/** Opens the configured bucket, or the folder if no bucket is configured. */
export async function openMediaStore(config: MediaStoreConfig): Promise<MediaStore> {
  const { mediaS3Bucket: bucket } = config;
  if (bucket === undefined) return new FolderStore(config.mediaFolder);
  // The SDK needs about 20 MB of memory, so it is loaded only for a bucket.
  const { S3Store } = await import('./s3-store.js');
  return new S3Store(bucket, config);
}

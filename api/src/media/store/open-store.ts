import type { ConfigOf } from '@gwk/core/config/load';
import type { mediaStoreSettings } from '@gwk/core/config/media';
import { FolderStore } from './folder-store.js';
import type { MediaStore } from './store.js';

export type MediaStoreConfig = ConfigOf<typeof mediaStoreSettings>;

/** The store that the settings name: a bucket where one is named, else a folder. */
export async function openMediaStore(config: MediaStoreConfig): Promise<MediaStore> {
  const { mediaS3Bucket: bucket } = config;
  if (bucket === undefined) return new FolderStore(config.mediaFolder);
  // The SDK costs some 20 MB of memory: it is loaded only where it is used.
  const { S3Store } = await import('./s3-store.js');
  return new S3Store({
    bucket,
    url: config.mediaS3Url,
    region: config.mediaS3Region,
    accessKey: config.mediaS3AccessKey,
    secretKey: config.mediaS3SecretKey,
    pathStyle: config.mediaS3PathStyle,
    prefix: config.mediaS3Prefix,
  });
}

import type { Logger } from '@gwk/core/process/log';
import { Proxy, type ProxyConfig } from '@gwk/core/proxy/proxy';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { MEGABYTE } from '@gwk/core/resources/media';
import type { AccountLimits } from '../accounts/usage.js';
import type { Queryable } from '../database/database.js';
import { MediaFiles } from './files.js';
import { MediaLinks } from './links.js';
import { FolderStore } from './store/folder-store.js';
import type { MediaStore, MediaStoreConfig } from './store/store.js';
import { StoreWatch } from './store/watch.js';

declare module '../http/services.js' {
  interface Services {
    media: Media;
  }
}

export type Media = Awaited<ReturnType<typeof openMedia>>;

/** Opens the media services of a process. */
export async function openMedia(
  config: MediaStoreConfig & AccountLimits & ProxyConfig & { mediaUrl: string },
  { db, sealer, log }: { db: Queryable; sealer: Sealer; log: Logger },
) {
  const store = await openMediaStore(config, Proxy.fromConfig(config));
  return {
    store,
    files: new MediaFiles({ db, sealer, store, limits: config, maxBytes: config.mediaMaxMb * MEGABYTE }),
    links: new MediaLinks(sealer, config.mediaUrl),
    watch: new StoreWatch(store, log),
  };
}

/** Opens the configured bucket, or the folder if no bucket is configured. */
export async function openMediaStore(
  config: MediaStoreConfig,
  proxy: Proxy | null = null,
): Promise<MediaStore> {
  const { mediaS3Bucket: bucket } = config;
  if (bucket === undefined) return new FolderStore(config.mediaFolder);
  // The SDK needs about 20 MB of memory, so it is loaded only for a bucket.
  const { S3Store } = await import('./store/s3-store.js');
  return new S3Store(bucket, config, proxy);
}

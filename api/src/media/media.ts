import type { Logger } from '@gwk/core/log';
import type { Sealer } from '@gwk/core/encryption';
import type { Queryable } from '../database/database.js';
import { MediaFiles } from './files.js';
import { MediaLinks } from './links.js';
import { openMediaStore } from './store/open-store.js';
import type { MediaStore, MediaStoreConfig } from './store/store.js';
import { StoreWatch } from './store/watch.js';

declare module '../http/services.js' {
  interface Services {
    media: Media;
  }
}

/** Media services of a process. */
export interface Media {
  store: MediaStore;
  files: MediaFiles;
  links: MediaLinks;
  watch: StoreWatch;
}

export async function openMedia(
  config: MediaStoreConfig & { mediaUrl: string },
  { db, sealer, log }: { db: Queryable; sealer: Sealer; log: Logger },
): Promise<Media> {
  const store = await openMediaStore(config);
  return {
    store,
    files: new MediaFiles({ db, sealer, store }),
    links: new MediaLinks(sealer, config.mediaUrl),
    watch: new StoreWatch(store, log),
  };
}

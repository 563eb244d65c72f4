import type { Sealer } from '@gwk/core/sealing';
import type { Queryable } from '../database.js';
import { MediaFiles } from './files.js';
import { MediaLinks } from './links.js';
import { openMediaStore, type MediaStoreConfig } from './store/open-store.js';
import type { MediaStore } from './store/store.js';

/** Files, and links to them: one of each in a process. */
export interface Media {
  store: MediaStore;
  files: MediaFiles;
  links: MediaLinks;
}

export async function openMedia(
  config: MediaStoreConfig & { mediaUrl: string },
  { db, sealer }: { db: Queryable; sealer: Sealer },
): Promise<Media> {
  const store = await openMediaStore(config);
  return {
    store,
    files: new MediaFiles({ db, sealer, store }),
    links: new MediaLinks(sealer, config.mediaUrl),
  };
}

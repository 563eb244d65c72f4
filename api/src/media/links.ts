import { timingSafeEqual } from 'node:crypto';
import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { Problem } from '@gwk/core/problems/problems';

export const LINK_PATH = '/media/:media_id';
const DAY_SECONDS = 86_400;
const MAX_SECONDS = 9_999_999_999;

/**
 * Makes and checks temporary links to files (docs/media.md). The signature is an HMAC over id and expiry with a key for the
 * day of the expiry. A link stays valid while the encryption key that it was made with is configured.
 */
export class MediaLinks {
  readonly #base: string;

  constructor(
    private readonly sealer: Sealer,
    mediaUrl: string,
  ) {
    this.#base = mediaUrl.replace(/\/$/, '');
  }

  make(mediaId: string, seconds: number, now = Date.now()): string {
    const id = toPublicId('media', mediaId);
    const expires = Math.floor(now / 1000) + seconds;
    const signature = this.#signatures(id, expires)[0]!.toString('base64url');
    return `${this.#base}/media/${id}?expires=${expires}&signature=${signature}`;
  }

  /** Returns the id of the linked file. @throws Problem `not-found` for a forged link, `media-expired` */
  open(link: { id: string; expires: unknown; signature: unknown }, now = Date.now()): string {
    const { id, expires, signature } = link;
    const mediaId = fromPublicId('media', id);
    const end = typeof expires === 'string' && /^[1-9]\d{0,9}$/.test(expires) ? Number(expires) : 0;
    if (mediaId === null || end === 0 || end > MAX_SECONDS || typeof signature !== 'string')
      throw new Problem('not-found');
    // Texts are compared, because many texts decode to the same bytes and caches would see different links.
    const given = Buffer.from(signature);
    const genuine = this.#signatures(id, end).some((bytes) => {
      const expected = Buffer.from(bytes.toString('base64url'));
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (!genuine) throw new Problem('not-found');
    if (end * 1000 > now) return mediaId;
    throw new Problem('media-expired', {
      detail: {
        pt: 'O link expirou. Peça outro em GET /v1/media/{media_id}.',
        en: 'The link has expired. Get another one by GET /v1/media/{media_id}.',
      },
    });
  }

  #signatures(id: string, expires: number): Buffer[] {
    const day = Math.floor(expires / DAY_SECONDS);
    return this.sealer.fingerprints(`media links ${day}`, 'link', `${id}\n${expires}`);
  }
}

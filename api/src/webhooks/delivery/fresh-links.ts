import { fromPublicId } from '@gwk/core/ids';

/** Validity of a media link in a webhook, from the time of its attempt. */
export const LINK_SECONDS = 24 * 3_600;

/**
 * Returns the JSON data of an event with a new link to the received file. Data without a file, or with a file that could
 * not be downloaded from the network, stays the same byte for byte.
 */
export function refreshLink(data: string, link: (mediaId: string) => string): string {
  if (!data.includes('"media_id":"med_')) return data;
  const event = JSON.parse(data) as { media?: { media_id?: unknown } };
  const { media } = event;
  const id = typeof media?.media_id === 'string' ? fromPublicId('media', media.media_id) : null;
  return id === null ? data : JSON.stringify({ ...event, media: { ...media, url: link(id) } });
}

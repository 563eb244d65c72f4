import { fromPublicId } from '@gwk/core/ids';

/** How long a link in a webhook holds (spec: received-media link), from the attempt that brings it. */
export const LINK_SECONDS = 24 * 3_600;

/**
 * The data of an event, as text, with a link of this attempt to the file that came with the message. What has no file,
 * or one whose download from the network failed, stays as it was written, byte for byte.
 */
export function withFreshLink(data: string, link: (mediaId: string) => string): string {
  if (!data.includes('"media_id":"med_')) return data;
  const event = JSON.parse(data) as { media?: { media_id?: unknown } };
  const { media } = event;
  const id = typeof media?.media_id === 'string' ? fromPublicId('media', media.media_id) : null;
  return id === null ? data : JSON.stringify({ ...event, media: { ...media, url: link(id) } });
}

import type { proto } from '@whiskeysockets/baileys';
import { buildPollMenu } from '../../../menu-text.js';
import type { LinkPreview } from '@gwk/core/resources/finished-media';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { UploadedFile } from '../upload.js';
import type { Renderer } from './renderer.js';

export const renderText: Renderer = ({ content: { text, preview }, file }) => ({
  message: {
    extendedTextMessage: {
      text: text!.body,
      ...(preview && {
        matchedText: preview.url,
        title: preview.title,
        ...(preview.description !== null && { description: preview.description }),
        ...(preview.thumbnail !== null && { jpegThumbnail: Buffer.from(preview.thumbnail, 'base64') }),
        previewType: 0,
        ...(preview.picture && file && describePicture(preview.picture, file)),
      }),
    },
  },
});

/** Phones show an uploaded picture over the whole width of the message. */
const describePicture = (
  { width, height }: NonNullable<LinkPreview['picture']>,
  { directPath, mediaKey, mediaKeyTimestamp, fileSha256, fileEncSha256 }: UploadedFile,
): proto.Message.IExtendedTextMessage => ({
  thumbnailDirectPath: directPath,
  thumbnailSha256: fileSha256,
  thumbnailEncSha256: fileEncSha256,
  thumbnailWidth: width,
  thumbnailHeight: height,
  mediaKey,
  mediaKeyTimestamp,
});

export const renderLocation: Renderer = ({ content: { location } }) => ({
  message: {
    locationMessage: {
      degreesLatitude: location!.latitude,
      degreesLongitude: location!.longitude,
      ...(location!.name && { name: location!.name }),
      ...(location!.address && { address: location!.address }),
    },
  },
});

export const renderContact: Renderer = ({ content: { contact }, registered }) => ({
  message: { contactMessage: { displayName: contact!.name, vcard: buildVcard(contact!, registered) } },
});

export const renderPoll: Renderer = ({ content, secret }) => {
  const poll = content.poll!;
  const creation = {
    name: poll.name,
    options: poll.options.map(({ label }) => ({ optionName: label })),
    selectableOptionsCount: poll.selectable,
  };
  // Apps show version 3 as a single-choice poll and version 1 as a multiple-choice poll.
  const kind = poll.selectable === 1 ? 'pollCreationMessageV3' : 'pollCreationMessage';
  return {
    message: { messageContextInfo: { messageSecret: secret }, [kind]: creation },
    nodes: [{ tag: 'meta', attrs: { polltype: 'creation' } }],
    menu: { ...buildPollMenu(poll), secret: Buffer.from(secret).toString('base64') },
  };
};

/** Its files follow, each as a message of its own (parts.ts). */
export const renderAlbum: Renderer = ({ content: { album } }) => ({
  message: { albumMessage: { expectedImageCount: album!.images, expectedVideoCount: album!.videos } },
});

/**
 * Apps offer to write to a number with a `waid`, so only numbers with an account have one. A plus begins a number with its
 * country: one that has an account, or was given with a plus. Others may be national, and stay as they are.
 */
export function buildVcard(
  { name, phones, organization }: NonNullable<OutboundContent['contact']>,
  registered: ReadonlyMap<string, string> = new Map(),
): string {
  const lines = phones.map((phone) => {
    const digits = readDigits(phone);
    const id = registered.get(digits);
    return id === undefined ? `TEL;type=CELL:${phone}` : `TEL;type=CELL;waid=${id}:+${digits}`;
  });
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:;${escapeVcard(name)};;;`,
    `FN:${escapeVcard(name)}`,
    ...(organization ? [`ORG:${escapeVcard(organization)}`] : []),
    ...lines,
    'END:VCARD',
  ].join('\n');
}

export const readDigits = (phone: string): string => phone.replace(/^\+/, '');

/** A vCard value must not end its line or its field. */
const escapeVcard = (text: string): string =>
  text.replace(/[\\;,]/g, (mark) => `\\${mark}`).replace(/\r\n|\r|\n/g, '\\n');

import type { OutboundContent } from '@gwk/core/resources/message';
import type { Draw } from './renderer.js';

export const drawText: Draw = ({ content: { text, preview } }) => ({
  message: {
    extendedTextMessage: {
      text: text!.body,
      ...(preview && {
        matchedText: preview.url,
        title: preview.title,
        ...(preview.description !== null && { description: preview.description }),
        ...(preview.thumbnail !== null && { jpegThumbnail: Buffer.from(preview.thumbnail, 'base64') }),
        previewType: 0,
      }),
    },
  },
});

export const drawLocation: Draw = ({ content: { location } }) => ({
  message: {
    locationMessage: {
      degreesLatitude: location!.latitude,
      degreesLongitude: location!.longitude,
      ...(location!.name && { name: location!.name }),
      ...(location!.address && { address: location!.address }),
    },
  },
});

export const drawContact: Draw = ({ content: { contact } }) => ({
  message: { contactMessage: { displayName: contact!.name, vcard: vcardOf(contact!) } },
});

function vcardOf({ name, phones, organization }: NonNullable<OutboundContent['contact']>): string {
  const digits = phones.map((phone) => phone.replace(/^\+/, ''));
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:;${escaped(name)};;;`,
    `FN:${escaped(name)}`,
    ...(organization ? [`ORG:${escaped(organization)}`] : []),
    ...digits.map((phone) => `TEL;type=CELL;waid=${phone}:+${phone}`),
    'END:VCARD',
  ].join('\n');
}

/** A value of a vCard may not end its line, nor its field. */
const escaped = (text: string): string =>
  text.replace(/[\\;,]/g, (mark) => `\\${mark}`).replace(/\r\n|\r|\n/g, '\\n');

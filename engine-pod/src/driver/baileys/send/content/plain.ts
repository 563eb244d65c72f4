import { buildPollMenu } from '@gwk/core/menus/menu-text';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Renderer } from './renderer.js';

export const renderText: Renderer = ({ content: { text, preview } }) => ({
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

export const renderContact: Renderer = ({ content: { contact } }) => ({
  message: { contactMessage: { displayName: contact!.name, vcard: buildVcard(contact!) } },
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
    menu: buildPollMenu(poll),
  };
};

function buildVcard({ name, phones, organization }: NonNullable<OutboundContent['contact']>): string {
  const digits = phones.map((phone) => phone.replace(/^\+/, ''));
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:;${escapeVcard(name)};;;`,
    `FN:${escapeVcard(name)}`,
    ...(organization ? [`ORG:${escapeVcard(organization)}`] : []),
    ...digits.map((phone) => `TEL;type=CELL;waid=${phone}:+${phone}`),
    'END:VCARD',
  ].join('\n');
}

/** A vCard value must not end its line or its field. */
const escapeVcard = (text: string): string =>
  text.replace(/[\\;,]/g, (mark) => `\\${mark}`).replace(/\r\n|\r|\n/g, '\\n');

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let group: string;
let announcements: string;
beforeAll(async () => {
  stage = await numberStage();
  const { network, phone, ana } = stage;
  group = await network.group('Friends', [phone, ana]);
  announcements = await network.group('News', [phone, ana], { announcement: true, admins: [phone.number] });
});
afterAll(() => stage.close());

const bytes = Buffer.from('the file '.repeat(2_000));
const finished: FinishedMedia = {
  file: 'f',
  mimetype: 'image/jpeg',
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  filename: null,
};
const media = {};
const PART = { wa_message_id: '3EB0WHOLE', kind: 'album' } as const;

/** The chat, and the phone on which it is read. */
const CHATS: [string, () => { chat: string; reader: NumberStage['ana'] }][] = [
  ['of a contact', () => ({ chat: stage.ana.jid, reader: stage.ana })],
  ['of a contact known by LID', () => ({ chat: stage.ana.lidJid, reader: stage.ana })],
  ['of a group', () => ({ chat: group, reader: stage.ana })],
  ['of an announcement group', () => ({ chat: announcements, reader: stage.ana })],
  ['with oneself', () => ({ chat: stage.phone.jid, reader: stage.phone })],
];

describe.each(CHATS)('in the chat %s a phone decodes', (_, place) => {
  async function arrives(content: OutboundContent) {
    const { number } = stage;
    const { chat, reader } = place();
    const message = number.message(chat, content);
    number.rows.files.set(message.message_id, () => Readable.from([bytes]));
    const { id } = await number.send(message);
    const received = await reader.receives({ id, copies: reader === stage.phone });
    return { chat, reader, received, message: received.message as Record<string, Record<string, unknown>> };
  }

  test('the frame of an album', async () => {
    const { message } = await arrives({ type: 'album', album: { images: 2, videos: 1 } });
    expect(message['albumMessage']).toEqual({ expectedImageCount: 2, expectedVideoCount: 1 });
  });

  test.each<[string, OutboundContent, string]>([
    ['picture', { type: 'image', image: { media, caption: 'A' }, finished }, 'imageMessage'],
    ['film', { type: 'video', video: { media, caption: 'A' }, finished }, 'videoMessage'],
  ])('a %s of an album', async (_what, content, field) => {
    const { chat, reader, received, message } = await arrives({ ...content, part_of: PART });
    expect(message[field]).toMatchObject({ caption: 'A' });
    expect(message['messageContextInfo']!['messageAssociation']).toEqual({
      associationType: 'MEDIA_ALBUM',
      parentMessageKey: { remoteJid: chat, fromMe: true, id: PART.wa_message_id },
    });
    expect((await reader.opens(received)).equals(bytes)).toBe(true);
  });

  test('both versions of a picture in HD', async () => {
    const standard = await arrives({ type: 'image', image: { media, caption: 'A', hd: true }, finished });
    expect(standard.message['imageMessage']).toMatchObject({
      caption: 'A',
      contextInfo: { pairedMediaType: 'SD_IMAGE_PARENT' },
    });
    const part_of = { ...PART, kind: 'hd' } as const;
    const { chat, reader, message, received } = await arrives({
      ...{ type: 'image', image: { media, hd: true }, finished, part_of },
    });
    expect(message['imageMessage']).toBeUndefined();
    expect(message['associatedChildMessage']!['message']).toMatchObject({
      imageMessage: { contextInfo: { pairedMediaType: 'HD_IMAGE_CHILD' } },
    });
    expect(message['messageContextInfo']!['messageAssociation']).toEqual({
      associationType: 'HD_IMAGE_DUAL_UPLOAD',
      parentMessageKey: { remoteJid: chat, fromMe: true, id: PART.wa_message_id },
    });
    expect(received.attributes).toMatchObject({ type: 'media' });
    expect((await reader.opens(received)).equals(bytes)).toBe(true);
  });

  test('a round video', async () => {
    const film = { ...finished, mimetype: 'video/mp4', width: 480, height: 480, duration_s: 5 };
    const { reader, received, message } = await arrives({
      ...{ type: 'video', video: { media, round: true }, finished: film },
    });
    expect(message['videoMessage']).toBeUndefined();
    expect(message['ptvMessage']).toMatchObject({ width: 480, height: 480, seconds: 5 });
    expect((await reader.opens(received)).equals(bytes)).toBe(true);
  });
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

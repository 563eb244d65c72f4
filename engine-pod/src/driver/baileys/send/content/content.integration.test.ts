import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { OutboundContent } from '@gwk/core/resources/message';
import { NEVER_ABORTED, numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  await stage.network.contact('554789211988');
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

interface Row {
  what: string;
  content: OutboundContent;
  arrives: Record<string, unknown>;
  stanza?: Record<string, string>;
}

const option = (label: string) => ({ id: label.toLowerCase(), label });
const vcard = (...lines: string[]) => ['BEGIN:VCARD', 'VERSION:3.0', ...lines, 'END:VCARD'].join('\n');

const ROWS: Row[] = [
  {
    what: 'a text',
    content: { type: 'text', text: { body: '*bold* _italic_ ~gone~ ```code```\n2nd line 😀' } },
    arrives: { extendedTextMessage: { text: '*bold* _italic_ ~gone~ ```code```\n2nd line 😀' } },
    stanza: { type: 'text' },
  },
  {
    what: 'the longest text',
    content: { type: 'text', text: { body: 'x'.repeat(65_536) } },
    arrives: { extendedTextMessage: { text: 'x'.repeat(65_536) } },
    stanza: { type: 'text' },
  },
  {
    what: 'a text with a preview',
    content: {
      type: 'text',
      text: { body: 'see https://a.example', preview_url: true },
      preview: { url: 'https://a.example', title: 'A', description: 'an example', thumbnail: 'AAAA' },
    },
    arrives: {
      extendedTextMessage: {
        text: 'see https://a.example',
        matchedText: 'https://a.example',
        title: 'A',
        description: 'an example',
        jpegThumbnail: 'AAAA',
        previewType: 'NONE',
      },
    },
    stanza: { type: 'text' },
  },
  {
    what: 'a text with a preview that says little',
    content: {
      type: 'text',
      text: { body: 'see https://a.example', preview_url: true },
      preview: { url: 'https://a.example', title: 'A', description: null, thumbnail: null },
    },
    arrives: {
      extendedTextMessage: {
        text: 'see https://a.example',
        matchedText: 'https://a.example',
        title: 'A',
        previewType: 'NONE',
      },
    },
    stanza: { type: 'text' },
  },
  {
    what: 'a place',
    content: {
      type: 'location',
      location: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Rua 1' },
    },
    arrives: {
      locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here', address: 'Rua 1' },
    },
  },
  {
    what: 'a place without a name',
    content: { type: 'location', location: { latitude: 0, longitude: 180 } },
    arrives: { locationMessage: { degreesLatitude: 0, degreesLongitude: 180 } },
  },
  {
    what: 'a contact',
    content: {
      type: 'contact',
      contact: { name: 'Bia; Silva', phones: ['+5511999990000', '551133330000'], organization: 'Shop, Ltd' },
    },
    arrives: {
      contactMessage: {
        displayName: 'Bia; Silva',
        vcard: vcard(
          'N:;Bia\\; Silva;;;',
          'FN:Bia\\; Silva',
          'ORG:Shop\\, Ltd',
          'TEL;type=CELL:+5511999990000',
          'TEL;type=CELL:551133330000',
        ),
      },
    },
    stanza: { type: 'media' },
  },
  {
    what: 'a contact with phone numbers that have an account, or have it under another form',
    content: {
      type: 'contact',
      contact: { name: 'Ana', phones: ['+5511900000002', '5547989211988', '551133330000'] },
    },
    arrives: {
      contactMessage: {
        displayName: 'Ana',
        vcard: vcard(
          'N:;Ana;;;',
          'FN:Ana',
          'TEL;type=CELL;waid=5511900000002:+5511900000002',
          'TEL;type=CELL;waid=554789211988:+5547989211988',
          'TEL;type=CELL:551133330000',
        ),
      },
    },
  },
  {
    what: 'a contact whose name has two lines',
    content: { type: 'contact', contact: { name: 'Bia\nTEL:1', phones: ['5511999990000'] } },
    arrives: {
      contactMessage: {
        displayName: 'Bia\nTEL:1',
        vcard: vcard('N:;Bia\\nTEL:1;;;', 'FN:Bia\\nTEL:1', 'TEL;type=CELL:5511999990000'),
      },
    },
    stanza: { type: 'media' },
  },
  {
    what: 'a poll with one choice',
    content: { type: 'poll', poll: { name: 'Which?', options: [option('A'), option('B')], selectable: 1 } },
    arrives: {
      pollCreationMessageV3: {
        name: 'Which?',
        options: [{ optionName: 'A' }, { optionName: 'B' }],
        selectableOptionsCount: 1,
      },
    },
    stanza: { type: 'poll' },
  },
  {
    what: 'a poll with several',
    content: {
      type: 'poll',
      poll: { name: 'Which two?', options: [option('A'), option('B'), option('C')], selectable: 2 },
    },
    arrives: {
      pollCreationMessage: {
        name: 'Which two?',
        options: [{ optionName: 'A' }, { optionName: 'B' }, { optionName: 'C' }],
        selectableOptionsCount: 2,
      },
    },
    stanza: { type: 'poll' },
  },
];

const CHATS: [string, () => string][] = [
  ['of a contact', () => stage.ana.jid],
  ['of a contact known by LID', () => stage.ana.lidJid],
  ['of a group', () => group],
];

/** The fields that a phone shows, without the device metadata that apps exchange. */
function shown(message: Record<string, unknown> | undefined): Record<string, unknown> {
  const { messageContextInfo, ...rest } = message ?? {};
  void messageContextInfo;
  return rest;
}

describe.each(CHATS)('in the chat %s a phone decodes, field by field,', (_chat, chat) => {
  test.each(ROWS)('$what', async ({ content, arrives, stanza }) => {
    const { number, ana } = stage;
    const { id, rendered_as } = await number.send(number.message(chat(), content));
    const received = await ana.receives({ id });
    expect(shown(received.message)).toEqual(arrives);
    expect(received.attributes).toMatchObject(stanza ?? {});
    expect(rendered_as).toBeNull();
  });
});

describe('a file', () => {
  const bytes = Buffer.from('the file '.repeat(20_000));
  const finished = {
    file: 'f',
    mimetype: 'application/pdf',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    filename: 'a.pdf',
  };
  const media = {};
  /** Fields that locate a file; all other fields are compared one by one. */
  const REFERENCE = ['url', 'directPath', 'mediaKey', 'fileSha256', 'fileEncSha256', 'mediaKeyTimestamp'];
  const fileLength = String(bytes.length);
  const waveform = Buffer.alloc(64, 50).toString('base64');
  const jpeg = { ...finished, mimetype: 'image/jpeg', width: 10, height: 20, thumbnail: 'AAAA' };
  const mp4 = {
    ...finished,
    mimetype: 'video/mp4',
    width: 640,
    height: 480,
    thumbnail: 'AAAA',
    duration_s: 4.4,
  };
  const ogg = { ...finished, mimetype: 'audio/ogg; codecs=opus', duration_s: 7.2, waveform };
  const webp = { ...finished, mimetype: 'image/webp', width: 512, height: 512 };
  const FILES: [string, OutboundContent, Record<string, unknown>][] = [
    [
      'a document',
      { type: 'document', document: { media, caption: 'read' }, finished },
      {
        documentMessage: {
          caption: 'read',
          fileName: 'a.pdf',
          title: 'a.pdf',
          mimetype: 'application/pdf',
          fileLength,
        },
      },
    ],
    [
      'a document without a name',
      { type: 'document', document: { media }, finished: { ...finished, filename: null } },
      {
        documentMessage: { fileName: 'file', title: 'file', mimetype: 'application/pdf', fileLength },
      },
    ],
    [
      'an image',
      { type: 'image', image: { media, caption: 'look' }, finished: jpeg },
      {
        imageMessage: {
          caption: 'look',
          width: 10,
          height: 20,
          mimetype: 'image/jpeg',
          jpegThumbnail: 'AAAA',
          fileLength,
        },
      },
    ],
    [
      'an image without a caption',
      { type: 'image', image: { media }, finished: { ...finished, mimetype: 'image/png' } },
      { imageMessage: { mimetype: 'image/png', fileLength } },
    ],
    [
      'a video',
      { type: 'video', video: { media, caption: 'see' }, finished: mp4 },
      {
        videoMessage: {
          caption: 'see',
          seconds: 4,
          width: 640,
          height: 480,
          mimetype: 'video/mp4',
          jpegThumbnail: 'AAAA',
          fileLength,
        },
      },
    ],
    [
      'an image that moves',
      { type: 'image', image: { media, caption: 'look' }, finished: { ...mp4, gif: true } },
      {
        videoMessage: {
          caption: 'look',
          seconds: 4,
          width: 640,
          height: 480,
          mimetype: 'video/mp4',
          jpegThumbnail: 'AAAA',
          gifPlayback: true,
          fileLength,
        },
      },
    ],
    [
      'a voice message',
      { type: 'audio', audio: { media, voice: true }, finished: ogg },
      {
        audioMessage: { ptt: true, seconds: 7, waveform, mimetype: 'audio/ogg; codecs=opus', fileLength },
      },
    ],
    [
      'an audio file',
      {
        type: 'audio',
        audio: { media, voice: false },
        finished: { ...finished, mimetype: 'audio/mpeg', duration_s: 0.2 },
      },
      { audioMessage: { ptt: false, seconds: 1, mimetype: 'audio/mpeg', fileLength } },
    ],
    [
      'a sticker',
      { type: 'sticker', sticker: { media }, finished: webp },
      {
        stickerMessage: { isAnimated: false, width: 512, height: 512, mimetype: 'image/webp', fileLength },
      },
    ],
    [
      'an animated sticker',
      { type: 'sticker', sticker: { media }, finished: { ...webp, animated: true } },
      {
        stickerMessage: { isAnimated: true, width: 512, height: 512, mimetype: 'image/webp', fileLength },
      },
    ],
  ];

  const withoutReference = (message: Record<string, unknown> | undefined) =>
    Object.fromEntries(
      Object.entries(shown(message)).map(([field, content]) => {
        const own = Object.entries(content as object).filter(([name]) => !REFERENCE.includes(name));
        return [field, Object.fromEntries(own)];
      }),
    );

  describe.each(CHATS)('arrives complete in the chat %s:', (_chat, chat) => {
    test.each(FILES)('%s', async (_, content, arrives) => {
      const { number, ana } = stage;
      const message = number.message(chat(), content);
      const file = () => Readable.from([bytes.subarray(0, 1_000), bytes.subarray(1_000)]);
      number.rows.files.set(message.message_id, file);
      const { id } = await number.send(message);
      const received = await ana.receives({ id });
      expect(withoutReference(received.message)).toEqual(arrives);
      expect(received.attributes).toMatchObject({ type: 'media' });
      expect((await ana.opens(received)).equals(bytes)).toBe(true);
    });
  });

  test('fails the message when it no longer exists or differs from the finished one', async () => {
    const { number, ana } = stage;
    const gone = number.message(ana.jid, FILES[0]![1]);
    await expect(number.send(gone)).rejects.toMatchObject({ code: 'media_unavailable', certain: true });
    number.rows.files.set(gone.message_id, () => Readable.from([Buffer.from('another file')]));
    await expect(number.send(gone)).rejects.toMatchObject({ code: 'media_unavailable', certain: true });
  });
});

test('shows a message once that is built once and sent twice', async () => {
  const { number, ana } = stage;
  const message = number.message(ana.jid, { type: 'text', text: { body: 'once' } });
  const { bytes } = await number.driver.build(message);
  const stanza = {
    waMessageId: message.wa_message_id,
    chat: ana.jid,
    bytes,
    mayWrite: () => true,
    signal: NEVER_ABORTED,
  };
  await number.driver.send(stanza);
  await number.driver.send(stanza);
  expect(await ana.inbox({ text: 'once' })).toHaveLength(1);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

test('a phone number of contact cards is looked up once', async () => {
  const { number, network, ana } = stage;
  const content: OutboundContent = {
    type: 'contact',
    contact: { name: 'Ana and nobody', phones: ['5511900000002', '551122220000', '+551122220000'] },
  };
  const lookups = async () =>
    JSON.stringify(await network.stanzas({ way: 'in', tag: 'iq' })).split(asked).length - 1;
  const asked = JSON.stringify({ base64: Buffer.from('+551122220000').toString('base64') });
  await Promise.all([ana.jid, group].map((chat) => number.send(number.message(chat, content))));
  await number.send(number.message(ana.jid, content));
  expect(await lookups()).toBe(1);
});

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { OutboundContent } from '@gwk/core/resources/message';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

const bytes = Buffer.from('a picture of many pixels');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const content: OutboundContent = {
  type: 'text',
  text: { body: 'see www.a.example', preview_url: true },
  preview: {
    ...{ url: 'www.a.example', title: 'A', description: null, thumbnail: 'AAAA' },
    picture: { file: '1', sha256, width: 1_200, height: 630 },
  },
};
const SMALL = { matchedText: 'www.a.example', title: 'A', jpegThumbnail: 'AAAA', previewType: 'NONE' };
const sentWith = async (file?: () => Readable) => {
  const { number, ana } = stage;
  const message = number.message(ana.jid, content);
  if (file) number.rows.files.set(message.message_id, file);
  const { id } = await number.send(message);
  const received = await ana.receives({ id });
  return { received, text: received.message?.['extendedTextMessage'] as Record<string, unknown> };
};

test('uploads the picture of a link preview, which phones download and decrypt', async () => {
  const { received, text } = await sentWith(() => Readable.from([bytes]));
  expect(text).toMatchObject({
    ...SMALL,
    thumbnailWidth: 1_200,
    thumbnailHeight: 630,
    thumbnailSha256: Buffer.from(sha256, 'hex').toString('base64'),
  });
  expect(received.attributes).toMatchObject({ type: 'text' });
  expect((await stage.ana.opens(received)).equals(bytes)).toBe(true);
});

test.each<[string, (() => Readable) | undefined, number[]]>([
  ['the hosts refuse it', () => Readable.from([bytes]), [500]],
  ['it no longer exists', undefined, []],
  ['it differs from the prepared one', () => Readable.from(['another']), []],
])('sends a text with the small picture if %s', async (_, file, upload) => {
  await stage.network.call('failMedia', { upload });
  const { text } = await sentWith(file);
  expect(text).toMatchObject(SMALL);
  expect(text).not.toHaveProperty('thumbnailDirectPath');
  expect(text).not.toHaveProperty('thumbnailWidth');
});

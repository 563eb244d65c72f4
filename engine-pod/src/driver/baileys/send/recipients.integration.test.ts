import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { OutboundContent } from '@gwk/core/resources/message';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/**
 * An engine requests no address that a customer or a contact gave, because it would do so from inside the cluster.
 */
let stage: NumberStage;
let server: Server;
let address: string;
const asked: string[] = [];

beforeAll(async () => {
  stage = await numberStage();
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('<title>inside</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await stage.close();
});

const bytes = Buffer.from('a file');
const finished = {
  file: 'f',
  mimetype: 'image/png',
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  filename: null,
};

test.each<[string, (url: string) => OutboundContent]>([
  ['in a text', (url) => ({ type: 'text', text: { body: `see ${url}`, preview_url: true } })],
  [
    'of a preview',
    (url) => ({
      type: 'text',
      text: { body: `see ${url}` },
      preview: { url, title: 'A', description: null, thumbnail: null },
    }),
  ],
  ['of an image', (url) => ({ type: 'image', image: { media: { url } }, finished })],
  ['of a document', (url) => ({ type: 'document', document: { media: { url } }, finished })],
  [
    'of a button',
    (url) => ({
      type: 'interactive',
      interactive: { body: 'Go', buttons: [{ type: 'url', label: 'Go', url }] },
    }),
  ],
])('requests no address %s', async (what, content) => {
  const { number, ana } = stage;
  const url = `${address}/${encodeURIComponent(what)}`;
  const message = number.message(ana.jid, content(url));
  number.rows.files.set(message.message_id, () => Readable.from([bytes]));
  const { id } = await number.send(message);
  await ana.receives({ id });
  expect(asked).toEqual([]);
});

test('requests no address of a received file', async () => {
  const { number, ana, phone } = stage;
  const id = await ana.writesFile('image', bytes, {
    to: phone.number,
    fields: { url: `${address}/of-a-contact` } as never,
  });
  expect((await number.gets(id)).media).toHaveProperty('media_id');
  expect(asked).toEqual([]);
});

test('requests no address in a received text', async () => {
  const { number, ana, phone } = stage;
  const content = { extendedTextMessage: { text: `${address}/in`, matchedText: `${address}/in` } };
  await number.gets(await ana.writes(content, { to: phone.number }));
  expect(asked).toEqual([]);
});

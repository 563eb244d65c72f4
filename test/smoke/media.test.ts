import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Samples } from '../support/api/samples.js';
import type { MediaOut } from '@gwk/core/resources/media';
import type { AcceptedMessageOut, MessageOut } from '@gwk/core/resources/message';
import { uploadFile, type Customer } from '../support/gateway/customer.js';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';
import { until } from '../support/wait.js';

/** Files from an upload or a server, through the worker, to the network. */
const gateway = SharedGateway.get();
let customer: Customer;
let instance: string;
let origin: Server;
let originUrl: string;
const folder = mkdtempSync(join(tmpdir(), 'gwk-media-e2e-'));
const samples = new Samples(folder);
/** Paths that were requested from the origin. */
const asked: string[] = [];
/** The origin answers /late.mp3 once this resolves. */
const late = Promise.withResolvers<void>();

beforeAll(async () => {
  customer = await joinGateway(gateway, 'media');
  instance = (await customer.client.connectedInstance('media')).id;
  origin = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    if (path.startsWith('/hop')) {
      const left = Number(path.slice(4));
      response.writeHead(302, { location: left === 0 ? '/a.png' : `/hop${left - 1}` }).end();
    } else if (path === '/page') {
      const head = '<title>Not this</title><meta property="og:title" content="A page &amp; more">';
      const image = '<meta property="og:image" content="/a.png"><meta name="description" content="Says it">';
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<html><head>${head}${image}</head>`);
    } else if (path === '/slow') response.writeHead(200, { 'content-type': 'image/png' }).write('x');
    else if (path === '/busy' && asked.filter((one) => one === path).length === 1)
      response.writeHead(503).end();
    else if (path === '/endless') {
      response.writeHead(200);
      const more = (): void => void (response.write(Buffer.alloc(1_000_000)) ? setImmediate(more) : 0);
      response.on('drain', more);
      more();
    } else if (path === '/late.mp3') void late.promise.then(() => giveFile(path, response));
    else giveFile(path === '/busy' ? 'a.png' : path, response);
  });
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  await samples.picture('a.png', 300, 200);
});
afterAll(() => {
  origin?.closeAllConnections();
  origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

function giveFile(name: string, response: ServerResponse): void {
  const file = join(folder, name);
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/x-wrong', 'content-length': size });
  createReadStream(file).pipe(response);
}

interface Sent {
  media?: Record<string, unknown>;
  preview?: Record<string, unknown>;
  [type: string]: unknown;
}

let lastPhone = 5511970000000;
/** Avoids the endings that sandboxes treat in a special way. */
const newPhone = () => String((lastPhone += 10_010));

async function send(content: Record<string, unknown>, to = newPhone()): Promise<MessageOut> {
  const body = { instance_id: instance, to, type: Object.keys(content)[0], ...content };
  const answer = await customer.client.call<MessageOut>('POST', '/v1/messages', { body });
  expect(answer).toMatchObject({ status: 202 });
  return answer.body;
}

const read = async (id: string) => (await customer.client.call<MessageOut>('GET', `/v1/messages/${id}`)).body;

async function ended({ id }: MessageOut): Promise<MessageOut> {
  return until(
    async () => {
      const message = await read(id);
      return ['queued', 'sending'].includes(message.status) ? undefined : message;
    },
    { what: 'the message has left or failed' },
  );
}

/** Content that arrived at the network for a message. */
async function arrived(message: MessageOut): Promise<Sent> {
  const { wa_message_id, error } = await ended(message);
  expect(error).toBeNull();
  const stanza = (await gateway.network.stanzasOf(instance)).find(
    ({ waMessageId }) => waMessageId === wa_message_id,
  );
  return JSON.parse(stanza!.bytes) as Sent;
}

const uploaded = (path: string): Promise<MediaOut> => uploadFile(gateway, customer, path);

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test('sends each kind of uploaded file in its prepared form', async () => {
  const jpeg = await samples.picture('b.jpg', 640, 480);
  const image = await arrived(
    await send({ image: { media: { media_id: (await uploaded(jpeg)).id }, caption: 'c' } }),
  );
  expect(image.media).toMatchObject({
    sha256: sha256(jpeg),
    mimetype: 'image/jpeg',
    width: 640,
    height: 480,
  });
  expect(image.media!['thumbnail']).toEqual(expect.any(String));

  const film = samples.film('b.mp4');
  const video = await arrived(await send({ video: { media: { media_id: (await uploaded(film)).id } } }));
  expect(video.media).toMatchObject({ mimetype: 'video/mp4', duration_s: 2 });
  // The index of the sample is at its end.
  expect(video.media!['sha256']).not.toBe(sha256(film));

  const webp = await samples.picture('b.webp', 512, 512);
  const sticker = await arrived(await send({ sticker: { media: { media_id: (await uploaded(webp)).id } } }));
  expect(sticker.media).toMatchObject({ sha256: sha256(webp), mimetype: 'image/webp', animated: false });

  const mp3 = samples.sound('b.mp3');
  const { id } = await uploaded(mp3);
  const audio = await arrived(await send({ audio: { media: { media_id: id } } }));
  expect(audio.media).toMatchObject({ sha256: sha256(mp3), mimetype: 'audio/mpeg', duration_s: 3 });

  const voice = await arrived(await send({ audio: { media: { media_id: id }, voice: true } }));
  expect(voice.media).toMatchObject({ mimetype: 'audio/ogg; codecs=opus', duration_s: 3 });
  expect(Buffer.from(voice.media!['waveform'] as string, 'base64')).toHaveLength(64);
  expect(voice.media!['sha256']).not.toBe(sha256(mp3));
});

test('fetches a file by URL, with the file name and type of the request', async () => {
  const media = { url: `${originUrl}/a.png`, filename: 'final.pdf', mimetype: 'application/pdf' };
  const { media: sent } = await arrived(await send({ document: { media } }));
  expect(sent).toMatchObject({
    sha256: sha256(samples.path('a.png')),
    filename: 'final.pdf',
    mimetype: 'application/pdf',
  });
  const plain = await arrived(await send({ image: { media: { url: `${originUrl}/a.png` } } }));
  expect(plain.media).toMatchObject({ mimetype: 'image/png', width: 300 });
});

test('follows five redirects, and fails with media_unavailable at a sixth', async () => {
  const image = (path: string) => ({ image: { media: { url: originUrl + path } } });
  expect((await arrived(await send(image('/hop4')))).media).toMatchObject({ width: 300 });
  expect(await ended(await send(image('/hop5')))).toMatchObject({ error: { code: 'media_unavailable' } });
});

test('retries a server that answered 503', async () => {
  const message = await send({ image: { media: { url: `${originUrl}/busy` } } });
  expect((await arrived(message)).media).toMatchObject({ width: 300 });
});

test('fails with media_unavailable for unreachable or invalid files, and sends the next message', async () => {
  const to = newPhone();
  const text = await samples.picture('small.webp', 100, 100);
  const broken = [
    { image: { media: { url: `${originUrl}/absent` } } },
    { document: { media: { url: `${originUrl}/endless` } } },
    { document: { media: { url: 'http://169.254.169.254/latest' } } },
    { document: { media: { url: 'http://10.0.0.1/' } } },
    { sticker: { media: { media_id: (await uploaded(samples.sound('small.mp3'))).id } } },
    { video: { media: { media_id: (await uploaded(text)).id } } },
  ];
  const messages: MessageOut[] = [];
  for (const content of broken) messages.push(await send(content, to));
  const last = await send({ text: { body: 'after all of them' } }, to);
  for (const message of messages) {
    expect(await ended(message)).toMatchObject({ status: 'failed', error: { code: 'media_unavailable' } });
  }
  expect((await ended(last)).error).toBeNull();
});

test('a message in preparation keeps its place, and does not delay other conversations', async () => {
  const to = newPhone();
  samples.sound('late.mp3');
  const media = { url: `${originUrl}/late.mp3` };
  const first = await send({ audio: { media, voice: true } }, to);
  const second = await send({ text: { body: 'second' } }, to);
  const other = await send({ text: { body: 'other' } });
  expect((await ended(other)).error).toBeNull();
  expect((await read(first.id)).status).toBe('queued');
  late.resolve();
  expect((await Promise.all([first, second].map(ended))).map(({ error }) => error)).toEqual([null, null]);
  const order = (await gateway.network.stanzasOf(instance)).map(({ waMessageId }) => waMessageId);
  const place = async (message: MessageOut) => order.indexOf((await read(message.id)).wa_message_id!);
  expect(await place(first)).toBeLessThan(await place(second));
});

test('preview_url shows the page of the first link; without an answer the text is sent without a preview', async () => {
  const text = (url: string) => ({ text: { body: `see ${url}, please`, preview_url: true } });
  const shown = await arrived(await send(text(`${originUrl}/page`)));
  expect(shown.preview).toEqual({
    url: `${originUrl}/page`,
    title: 'A page & more',
    description: 'Says it',
    thumbnail: expect.any(String) as string,
    picture: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string, width: 300, height: 200 },
  });
  expect((await arrived(await send(text(`${originUrl}/absent`)))).preview).toBeUndefined();
  expect((await arrived(await send(text('http://10.0.0.1/')))).preview).toBeUndefined();
});

test('sends an album in order, also without a file that does not exist', async () => {
  await samples.picture('c.png', 30, 20);
  samples.film('c.mp4');
  const at = (name: string) => ({ media: { url: `${originUrl}/${name}` } });
  const album = [{ image: at('c.png') }, { image: at('absent.png') }, { video: at('c.mp4') }];
  const to = newPhone();
  const frame: AcceptedMessageOut = await send({ album }, to);
  await send({ text: { body: 'after' } }, to);
  const [first, absent, last] = await Promise.all(frame.items!.map(ended));
  expect(absent).toMatchObject({ status: 'failed', error: { code: 'media_unavailable' } });
  const stanzas = async () =>
    (await gateway.network.stanzasOf(instance))
      .filter(({ chat }) => chat.startsWith(to))
      .map(({ waMessageId, bytes }) => ({ waMessageId, ...(JSON.parse(bytes) as Sent) }));
  await until(async () => (await stanzas()).length === 4, { what: 'the text after the album has left' });
  const { wa_message_id } = await ended(frame);
  const part_of = { wa_message_id, kind: 'album' };
  expect(await stanzas()).toMatchObject([
    { waMessageId: wa_message_id, type: 'album', album: { images: 2, videos: 1 } },
    { waMessageId: first!.wa_message_id, type: 'image', part_of },
    { waMessageId: last!.wa_message_id, type: 'video', part_of },
    { type: 'text' },
  ]);
});

test('sends a picture in HD in two versions, and cuts a round video', async () => {
  await samples.picture('large.jpg', 2_560, 1_280);
  const image = { media: { url: `${originUrl}/large.jpg` }, caption: 'c', hd: true };
  const standard: AcceptedMessageOut = await send({ image });
  expect((await arrived(standard)).media).toMatchObject({ width: 1_600, height: 800 });
  expect(await arrived(standard.items![0]!)).toMatchObject({
    media: { width: 2_560, height: 1_280 },
    part_of: { wa_message_id: (await ended(standard)).wa_message_id, kind: 'hd' },
  });
  const wide = samples.film('wide.mp4');
  const video = { media: { media_id: (await uploaded(wide)).id }, round: true };
  const { width, height } = (await arrived(await send({ video }))).media!;
  expect(width).toBe(height);
  const gif = samples.make('moves.gif', ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x64:rate=5']);
  const media = { media_id: (await uploaded(gif)).id };
  expect((await ended(await send({ image: { media, hd: true } }))).error).toMatchObject({
    code: 'media_unavailable',
    message: 'an animation has no HD version',
  });
});

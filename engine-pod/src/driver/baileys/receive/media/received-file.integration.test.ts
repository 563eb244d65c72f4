import { createHash, randomBytes } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { MediaFields, MediaKind } from '@gwk/network/media/messages';
import { ManualClock } from '@gwk/test/support/clock';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';
import { classifyError, classifyStatus } from './download.js';
import { decideMediaError, storeReceivedFile, type DownloadFailure } from './received-file.js';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());
afterEach(() => {
  stage.number.rows.before = () => undefined;
});

interface Row {
  what: string;
  kind: MediaKind;
  fields: MediaFields;
  says: Partial<InboundMessage>;
  media?: Record<string, unknown>;
  named: Record<string, string>;
}

const ROWS: Row[] = [
  {
    what: 'an image with a caption',
    kind: 'image',
    fields: { caption: 'look', mimetype: 'image/jpeg' },
    says: { type: 'image', text: 'look' },
    named: { mimetype: 'image/jpeg' },
  },
  {
    what: 'a video',
    kind: 'video',
    fields: { caption: 'see', seconds: 12 },
    says: { type: 'video', text: 'see' },
    media: { duration_s: 12 },
    named: { mimetype: 'video/mp4' },
  },
  {
    what: 'a voice message',
    kind: 'audio',
    fields: { ptt: true, seconds: 7, mimetype: 'audio/ogg; codecs=opus' },
    says: { type: 'audio', text: null },
    media: { duration_s: 7, voice: true },
    named: { mimetype: 'audio/ogg; codecs=opus' },
  },
  {
    what: 'an audio file',
    kind: 'audio',
    fields: { seconds: 180, mimetype: 'audio/mpeg' },
    says: { type: 'audio', text: null },
    media: { duration_s: 180, voice: false },
    named: { mimetype: 'audio/mpeg' },
  },
  {
    what: 'a document',
    kind: 'document',
    fields: { caption: 'read', fileName: 'a.pdf', mimetype: 'application/pdf' },
    says: { type: 'document', text: 'read' },
    named: { mimetype: 'application/pdf', filename: 'a.pdf' },
  },
  {
    what: 'a sticker',
    kind: 'sticker',
    fields: {},
    says: { type: 'sticker', text: null },
    named: { mimetype: 'image/webp' },
  },
];

const fresh = () => randomBytes(50_001);
const got = (id: string) => stage.number.gets(id);
const isKept = { media_id: expect.any(String) as string };

describe.each([
  ['a contact', () => stage.phone.number],
  ['a member of a group', () => stage.network.group('Files', [stage.phone, stage.ana])],
])('a file of %s comes whole:', (_sender, place) => {
  test.each(ROWS)('$what', async ({ kind, fields, says, media, named }) => {
    const { number, ana } = stage;
    const bytes = fresh();
    const to = await place();
    const id = await ana.writesFile(kind, bytes, { to, fields });
    const message = await got(id);
    expect(message).toMatchObject({ ...says, from_me: false });
    expect(message.media).toEqual({ ...isKept, ...media });
    const kept = number.rows.kept.find((one) => one.bytes.equals(bytes));
    expect(kept?.named).toEqual({ ...named, size: bytes.length });
  });
});

describe('a file is stored, although', () => {
  const afterTrouble = async (how: { expired?: boolean } = {}) => {
    const bytes = fresh();
    const id = await stage.ana.writesFile('image', bytes, { to: stage.phone.number, ...how });
    expect((await got(id)).media).toEqual(isKept);
    // An earlier file may be fetched again by the next engine, so it need not be the last.
    expect(stage.number.rows.kept.some((kept) => kept.bytes.equals(bytes))).toBe(true);
  };

  test('the media host fails at first', async () => {
    await stage.network.call('failMedia', { download: [503, 500] });
    await afterTrouble();
  });

  test('the media host breaks off half-way, twice', async () => {
    await stage.network.call('failMedia', { download: [0, 0] });
    await afterTrouble();
  });

  test('it is no longer on the network: the phone uploads it again', () => afterTrouble({ expired: true }));

  test('the media host says that its address has expired (403)', async () => {
    await stage.network.call('failMedia', { download: [403] });
    await afterTrouble();
  });

  test('the API is unavailable for a while', async () => {
    let times = 2;
    stage.number.rows.before = (what) => {
      if (what === 'file' && times-- > 0) throw new InternalApiUnreachable('unavailable');
    };
    await afterTrouble();
  });

  test('the network names no media host at first', async () => {
    const { number, network } = stage;
    await number.replace();
    await network.rule({ on: 'w:m/set/media_conn', answer: 500, times: 1 });
    await afterTrouble();
  });

  test('the connection drops meanwhile', async () => {
    const { number, network, ana, phone } = stage;
    await network.call('failMedia', { download: [503, 503] });
    const id = await ana.writesFile('image', fresh(), { to: phone.number });
    await network.waitReceipt({ from: phone.number, id });
    number.events.length = 0;
    await network.cut(phone.number);
    await number.happens('closed');
    number.connect();
    // The clock is stopped until then: without a connection each attempt fails.
    await number.happens('opened');
    expect((await got(id)).media).toEqual(isKept);
  });

  test('the engine dies meanwhile: the next one stores it, once', async () => {
    const { number, network, ana, phone } = stage;
    number.rows.before = (what) => (what === 'file' ? new Promise(() => undefined) : undefined);
    const id = await ana.writesFile('image', fresh(), { to: phone.number });
    await network.waitReceipt({ from: phone.number, id });
    number.rows.before = () => undefined;
    await number.replace();
    expect((await got(id)).media).toEqual(isKept);
    expect(number.rows.inbound.filter(({ wa_message_id }) => wa_message_id === id)).toHaveLength(1);
  });
});

describe('a file is lost, and the message says so, when', () => {
  const lost = async (write: () => Promise<string>) => (await got(await write())).media;
  const image = (what: Record<string, unknown>) => () =>
    stage.ana.writes({ imageMessage: what }, { to: stage.phone.number });

  test('neither the network nor the phone has it any more', async () => {
    const { ana, phone, running } = stage;
    const write = async () => {
      const id = await ana.writesFile('image', fresh(), {
        to: phone.number,
        expired: true,
        fields: { mimetype: 'image/png' },
      });
      return id;
    };
    running.network.world.keptFiles.set = () => running.network.world.keptFiles;
    expect(await lost(write)).toEqual({ error: 'expired', mimetype: 'image/png', size: 50_001 });
    Reflect.deleteProperty(running.network.world.keptFiles, 'set');
  });

  test('the phone uploads it again and again without success', async () => {
    const { ana, phone, running } = stage;
    const { media } = running.network.world;
    const put = media!.put.bind(media);
    media!.put = (bytes, by) => {
      const place = put(bytes, by);
      media!.expire(place.directPath);
      return place;
    };
    const write = () => ana.writesFile('image', fresh(), { to: phone.number });
    expect(await lost(write)).toMatchObject({ error: 'expired' });
    media!.put = put;
  });

  test('it is not the announced file', async () => {
    const { ana, phone } = stage;
    const fields = { fileSha256: createHash('sha256').update('another').digest() } as MediaFields;
    const write = () => ana.writesFile('image', fresh(), { to: phone.number, fields });
    expect(await lost(write)).toMatchObject({ error: 'hash_mismatch', size: 50_001 });
  });

  test('the API refuses its size', async () => {
    stage.number.rows.before = (what) => {
      if (what === 'file') throw new InternalApiRefusal('too-large', null);
    };
    const named = { mimetype: 'application/zip', fileName: 'all.zip' };
    const fields = { ...named, fileLength: 67_108_865 } as MediaFields;
    const write = () => stage.ana.writesFile('document', fresh(), { to: stage.phone.number, fields });
    expect(await lost(write)).toEqual({
      ...{ error: 'too_large', mimetype: 'application/zip', filename: 'all.zip', size: 67_108_865 },
    });
  });

  test('it has no bytes', async () => {
    const fields = { fileName: null, title: 'Bill', mimetype: 'application/pdf' } as unknown as MediaFields;
    const to = stage.network.group('Empty', [stage.phone, stage.ana]);
    const write = async () => stage.ana.writesFile('document', Buffer.alloc(0), { to: await to, fields });
    expect(await lost(write)).toEqual({ error: 'empty', mimetype: 'application/pdf', filename: 'Bill' });
  });

  test('the message does not state its location', async () => {
    expect(await lost(image({ mimetype: 'image/png' }))).toEqual({
      error: 'unavailable',
      mimetype: 'image/png',
    });
  });

  test('the API refuses it', async () => {
    stage.number.rows.before = (what) => {
      if (what === 'file') throw new InternalApiRefusal('invalid', null);
    };
    const write = () => stage.ana.writesFile('image', fresh(), { to: stage.phone.number });
    expect(await lost(write)).toMatchObject({ error: 'unavailable', size: 50_001 });
  });

  test('its address is chosen by the sender: no request is made there', async () => {
    const bytes = Buffer.alloc(32, 1).toString('base64');
    const what = {
      url: 'https://127.0.0.1:1/secret',
      directPath: '/secret',
      mediaKey: bytes,
      fileSha256: bytes,
      fileEncSha256: bytes,
      fileLength: 5,
      mimetype: 'image/jpeg',
    };
    expect(await lost(image(what))).toEqual({ error: 'expired', mimetype: 'image/jpeg', size: 5 });
  });

  test('its path would change the host: no request is made there', async () => {
    let asked = 0;
    const host = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    const { port } = host.address() as AddressInfo;
    const bytes = Buffer.alloc(32, 1).toString('base64');
    const directPath = `@127.0.0.1:${port}/secret`;
    const what = { directPath, mediaKey: bytes, fileSha256: bytes, fileLength: 5, mimetype: 'image/jpeg' };
    expect(await lost(image(what))).toMatchObject({ error: 'unavailable' });
    await new Promise((resolve) => host.close(resolve));
    expect(asked).toBe(0);
  });
});

test.each<[string, DownloadFailure, number, string | null]>([
  ['an unavailable host is retried', 'host_unavailable', 119_000, null],
  ['for two minutes', 'host_unavailable', 121_000, 'unavailable'],
  ['an unresponsive phone is asked again', 'phone_unresponsive', 60_000, null],
  ['for two minutes', 'phone_unresponsive', 121_000, 'expired'],
  ['an unavailable API is retried for longer', 'api_unavailable', 899_000, null],
  ['but in the end', 'api_unavailable', 901_000, 'unavailable'],
  ['nor without a connection', 'no_connection', 899_000, null],
  ['but in the end', 'no_connection', Infinity, 'unavailable'],
  ['a wrong file stays wrong', 'hash_mismatch', 0, 'hash_mismatch'],
  ['an empty one stays empty', 'empty', 0, 'empty'],
  ['a large one stays large', 'too_large', 0, 'too_large'],
  ['a refusal is one', 'refused', 0, 'unavailable'],
  ['a file that the phone lacks is expired', 'phone_lacks_file', 0, 'expired'],
])('%s (%s, %d ms)', (_, trouble, spentMs, expected) => {
  expect(decideMediaError(trouble, spentMs)).toBe(expected);
});

test('a file that breaks off after 20 minutes is requested again', async () => {
  const clock = new ManualClock();
  const bytes = new Uint8Array(32);
  const documentMessage = { directPath: '/a', mediaKey: bytes, fileSha256: bytes };
  let attempts = 0;
  const stored = storeReceivedFile({ content: { message: { documentMessage } } } as never, {
    findConnection: () => ({ media: { findDownloadHost: () => Promise.resolve('a.example') } }) as never,
    route: { get: () => Promise.resolve({ ok: true, status: 200, body: new PassThrough() }) } as never,
    storeFile: async () => {
      if (++attempts > 1) return { media_id: 'stored' } as never;
      clock.advanceSilently(1_200_000);
      throw new Error('broken off');
    },
    signal: new AbortController().signal,
    clock,
  });
  await until('it is stored', () => (clock.skip(15_000), attempts > 1) || undefined);
  expect(await stored).toEqual({ media_id: 'stored' });
});

test.each([
  [403, 'expired'],
  [404, 'expired'],
  [410, 'expired'],
  [503, 'host_unavailable'],
])('a host that answers %d', (status, expected) => {
  expect(classifyStatus(status)).toBe(expected);
});

test.each([
  ['no answer at all', new TypeError('fetch failed'), 'host_unavailable'],
  ['no file handles', new TypeError('fetch failed', { cause: { code: 'EMFILE' } }), 'no_connection'],
  ['bytes that do not decrypt', { code: 'ERR_OSSL_BAD_DECRYPT' }, 'hash_mismatch'],
  ['the API is unavailable', new InternalApiUnreachable('unavailable'), 'api_unavailable'],
  ['the API refuses', new InternalApiRefusal('invalid', null), 'refused'],
])('a fetch that fails: %s', (_, error, expected) => {
  expect(classifyError(error)).toBe(expected);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { MAX_MEDIA_BYTES, type MediaOut } from '@gwk/core/resources/media';
import { until } from '@gwk/test/support/wait';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import { noise, upload } from '@gwk/test/support/api/upload';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const MARKER = 'a-marker-that-nobody-else-writes';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;

beforeAll(async () => {
  api = await sharedApi();
  account = await api.account();
  client = await api.clientOf(account);
});

const file = (content: Buffer | string, filename = 'a.bin', type?: string) => ({
  name: 'file',
  filename,
  content,
  ...(type !== undefined && { type }),
});

interface Download {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

function download(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Download> {
  const { pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port: api.port, path: pathname + search, method, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        );
      },
    );
    call.on('error', reject);
    call.end();
  });
}

const get = (id: string, by = client) => by.call<MediaOut & ProblemBody>('GET', `/v1/media/${id}`);
const codeOf = ({ status, body }: Answer<ProblemBody>) => `${status} ${body.type.split('/').at(-1)}`;

describe('an upload', () => {
  test('has the type of its content, and its link returns the same bytes', async () => {
    const answer = await upload<MediaOut>(client, [file(PNG, 'photo.txt', 'text/plain')]);
    expect(answer.status).toBe(201);
    const { url, ...rest } = answer.body;
    expect(rest).toEqual({
      id: expect.stringMatching(/^med_[0-9a-f]{32}$/) as string,
      mimetype: 'image/png',
      size: PNG.length,
      sha256: createHash('sha256').update(PNG).digest('hex'),
      filename: 'photo.txt',
      created_at: expect.any(String) as string,
      expires_at: expect.any(String) as string,
    });
    const days = (Date.parse(rest.expires_at) - Date.parse(rest.created_at)) / 86_400_000;
    expect(days).toBe(30);
    expect((await download(url!)).bytes).toEqual(PNG);
    expect((await get(rest.id)).body).toMatchObject({ ...rest, url: expect.any(String) as string });
  });

  test('takes the name from the field `filename`, before or after the file', async () => {
    const named = { name: 'filename', content: 'relatório.pdf' };
    for (const parts of [
      [named, file(PNG)],
      [file(PNG), named],
    ]) {
      expect((await upload<MediaOut>(client, parts)).body.filename).toBe('relatório.pdf');
    }
  });

  test('takes the kind of a text from the field `filename`, before or after the file', async () => {
    const named = { name: 'filename', content: 'a.csv' };
    for (const parts of [
      [named, file('a;b', 'blob')],
      [file('a;b', 'blob'), named],
    ]) {
      expect((await upload<MediaOut>(client, parts)).body.mimetype).toBe('text/csv');
    }
  });

  test('accepts 64 MB and rejects one byte more (file-too-large)', async () => {
    for (const size of [MAX_MEDIA_BYTES - 1, MAX_MEDIA_BYTES]) {
      const answer = await upload<MediaOut>(client, [{ name: 'file', filename: 'a', content: noise(size) }]);
      expect([answer.status, answer.body.size]).toEqual([201, size]);
    }
    const over = { name: 'file', filename: 'a', content: noise(MAX_MEDIA_BYTES + 1) };
    const refused = await upload<ProblemBody>(client, [over]);
    expect([codeOf(refused), refused.body.detail]).toEqual(['413 file-too-large', 'O arquivo excede 64 MB.']);
  });

  test('is rejected by its Content-Length before the body is sent (file-too-large)', async () => {
    const announced = MAX_MEDIA_BYTES * 2;
    const answer = await upload<ProblemBody>(client, [file('short')], { announced });
    expect(codeOf(answer)).toBe('413 file-too-large');
  });

  test.each<[string, Parameters<typeof upload>[1], Parameters<typeof upload>[2], string]>([
    ['of an empty file (empty-file)', [file('')], {}, '422 empty-file'],
    ['without a file', [{ name: 'filename', content: 'a' }], {}, '422 validation-error'],
    ['of two files', [file('a'), file('b')], {}, '422 validation-error'],
    ['that is truncated', [file('a')], { truncated: true }, '422 validation-error'],
    [
      'that is truncated in an ignored file',
      [{ name: 'other', filename: 'b.txt', content: 'b' }],
      { truncated: true },
      '422 validation-error',
    ],
    ['that is JSON', [], { headers: { 'content-type': 'application/json' } }, '422 validation-error'],
    [
      'of a form without boundary',
      [],
      { headers: { 'content-type': 'multipart/form-data' } },
      '422 validation-error',
    ],
    [
      'whose name has 256 characters',
      [file('a'), { name: 'filename', content: 'x'.repeat(256) }],
      {},
      '422 validation-error',
    ],
  ])('%s is rejected', async (_, parts, sending, code) => {
    expect(codeOf(await upload<ProblemBody>(client, parts, sending))).toBe(code);
  });

  test('accepts a name of 255 characters', async () => {
    const filename = 'é'.repeat(255);
    const answer = await upload<MediaOut>(client, [file('a'), { name: 'filename', content: filename }]);
    expect(answer.body.filename).toBe(filename);
  });

  test('needs the scope media:write (insufficient-scope)', async () => {
    const reader = await api.clientOf(account, { scopes: ['messages:read'] });
    const answer = await upload<ProblemBody>(reader, [file('a')]);
    expect([codeOf(answer), answer.body.required_scope]).toEqual(['403 insufficient-scope', 'media:write']);
  });

  test('leaves no file if it is rejected, truncated or repeated', async () => {
    // Other test files share the API and may have left files that a job removes later.
    const before = await unreferencedKeys();
    await upload(client, [file('')]);
    await upload(client, [file('a')], { truncated: true });
    const headers = { 'idempotency-key': 'left-behind' };
    await upload(client, [file('a')], { headers });
    await upload(client, [file('a')], { headers });
    const left = async () => (await unreferencedKeys()).filter((key) => !before.includes(key));
    await until(async () => (await left()).length === 0, { what: 'no file is left' });
  });
});

/** Store keys that are to be removed, and those of files without a row. */
async function unreferencedKeys(): Promise<string[]> {
  const kept = await api.db.media.findMany({ select: { storeKey: true } });
  const removals = await api.db.storeRemoval.findMany();
  const files = readdirSync(api.mediaFolder).flatMap((folder) => readdirSync(join(api.mediaFolder, folder)));
  const rows = new Set(kept.map(({ storeKey }) => storeKey));
  return [...removals.map(({ storeKey }) => storeKey), ...files.filter((key) => !rows.has(key))];
}

describe('Idempotency-Key on an upload', () => {
  const headers = { 'idempotency-key': 'the-same' };

  test('replays the answer for the same file and rejects another (idempotency-key-reused)', async () => {
    const first = await upload<MediaOut>(client, [file('one')], { headers });
    const again = await upload<MediaOut>(client, [file('one')], { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const other = await upload<ProblemBody>(client, [file('two')], { headers });
    expect(codeOf(other)).toBe('422 idempotency-key-reused');
  });

  test('answers not-found to a key that may not see the file', async () => {
    const restricted = await api.clientOf(account, { instances: [] });
    expect(codeOf(await upload<ProblemBody>(restricted, [file('one')], { headers }))).toBe('404 not-found');
  });
});

describe('a file', () => {
  let media: MediaOut;
  beforeAll(async () => {
    media = (await upload<MediaOut>(client, [file(PNG, `${MARKER}.png`)])).body;
  });

  test.each(['messages:read', 'media:write'] as const)('is readable with the scope %s', async (scope) => {
    expect((await get(media.id, await api.clientOf(account, { scopes: [scope] }))).status).toBe(200);
  });

  test('is not readable with another scope (insufficient-scope)', async () => {
    const answer = await get(media.id, await api.clientOf(account, { scopes: ['events:read'] }));
    expect(codeOf(answer)).toBe('403 insufficient-scope');
  });

  test('is not-found if unknown, of another account or not visible to the restricted key', async () => {
    const stranger = await api.clientOf(await api.account());
    const restricted = await api.clientOf(account, { instances: [] });
    expect(codeOf(await get(media.id, stranger))).toBe('404 not-found');
    expect(codeOf(await get(media.id, restricted))).toBe('404 not-found');
    expect(codeOf(await get(`med_${'0'.repeat(32)}`))).toBe('404 not-found');
  });

  test('answers media-expired by id and by link after its expiry', async () => {
    const { body } = await upload<MediaOut>(client, [file('old')]);
    const id = body.id.slice(4);
    await api.db.$executeRaw`UPDATE media SET expires_at = now() WHERE replace(id::text, '-', '') = ${id}`;
    expect(codeOf(await get(body.id))).toBe('410 media-expired');
    expect((await download(body.url!)).status).toBe(410);
  });

  test('and its name are encrypted in the database and in the store', async () => {
    const secret = Buffer.from(`${MARKER} inside`);
    await upload(client, [file(secret, `${MARKER}.txt`)]);
    const rows = await api.db.$queryRaw<{ text: string }[]>`SELECT m::text AS text FROM media m`;
    expect(rows.filter(({ text }) => text.includes(MARKER) || text.includes(hexOf(MARKER)))).toEqual([]);
    const stored = readdirSync(api.mediaFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.filter((bytes) => bytes.includes(MARKER))).toEqual([]);
  });
});

const hexOf = (text: string) => Buffer.from(text).toString('hex');

describe('a link', () => {
  const content = Buffer.concat([...noise(200_000)]);
  let media: MediaOut;
  let requestedAt: number;
  beforeAll(async () => {
    requestedAt = Date.now();
    media = (
      await upload<MediaOut>(client, [file(content), { name: 'filename', content: 'relatório "final".html' }])
    ).body;
  });

  test('is a sandboxed attachment without cookies', async () => {
    const { status, headers } = await download(media.url!);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-disposition': "attachment; filename*=UTF-8''relat%C3%B3rio%20%22final%22.html",
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-length': '200000',
      'accept-ranges': 'bytes',
      etag: `"${media.sha256}"`,
    });
    expect(headers['set-cookie']).toBeUndefined();
  });

  test.each<[string, number, number]>([
    ['bytes=0-0', 0, 1],
    ['bytes=0-65535', 0, 65_536],
    ['bytes=65535-65536', 65_535, 65_537],
    ['bytes=100000-', 100_000, 200_000],
    ['bytes=-5', 199_995, 200_000],
    ['bytes=199999-900000', 199_999, 200_000],
  ])('returns the range %s', async (range, start, end) => {
    const { status, headers, bytes } = await download(media.url!, { range });
    expect([status, headers['content-range']]).toEqual([206, `bytes ${start}-${end - 1}/200000`]);
    expect(bytes).toEqual(content.subarray(start, end));
  });

  test('rejects a range beyond the end and ignores the range of another ETag', async () => {
    const beyond = await download(media.url!, { range: 'bytes=200000-' });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */200000']);
    const other = await download(media.url!, { range: 'bytes=0-0', 'if-range': '"another"' });
    expect([other.status, other.bytes.length]).toEqual([200, 200_000]);
    const same = await download(media.url!, { 'if-none-match': `"${media.sha256}"` });
    expect([same.status, same.bytes.length]).toEqual([304, 0]);
  });

  test('answers HEAD without a body', async () => {
    const { status, headers, bytes } = await download(media.url!, {}, 'HEAD');
    expect([status, headers['content-length'], bytes.length]).toEqual([200, '200000', 0]);
  });

  test('is valid for one hour and only for its file and expiry', async () => {
    const url = new URL(media.url!);
    const expires = Number(url.searchParams.get('expires'));
    expect(expires).toBeGreaterThan(requestedAt / 1000 + 3599);
    expect(expires).toBeLessThanOrEqual(Date.now() / 1000 + 3600);
    const later = new URL(url);
    later.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 60));
    const other = new URL(url);
    other.pathname = `/media/med_${'1'.repeat(32)}`;
    const unsigned = new URL(url.pathname, url);
    for (const forged of [later, other, unsigned]) expect((await download(forged.href)).status).toBe(404);
  });
});

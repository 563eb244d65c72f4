import { Readable } from 'node:stream';
import { loadConfig } from '@gwk/core/config/load';
import { mediaStoreSettings } from '../../config/media.js';
import { ManualClock } from '@gwk/test/support/clock';
import { findObject, freeAfterUse, resolveBucket } from './s3-reads.js';
import { openClient } from './s3-store.js';

const CHANGED = ['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT', 'AWS_ENDPOINT_URL_S3'];
const before = CHANGED.map((name) => [name, process.env[name]] as const);
afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const AMAZON = 'us-east-1.amazonaws.com';

test.each<[string, Record<string, string>, Record<string, string>, string]>([
  ['no setting', {}, {}, `https://files.s3.${AMAZON}/`],
  ['FIPS', { AWS_USE_FIPS_ENDPOINT: 'true' }, {}, `https://files.s3-fips.${AMAZON}/`],
  ['IPv6', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }, {}, `https://files.s3.dualstack.${AMAZON}/`],
  ['a service', { AWS_ENDPOINT_URL_S3: 'http://store.test' }, {}, 'http://files.store.test/'],
  [
    'a service of gwk',
    { AWS_ENDPOINT_URL_S3: 'http://store.test' },
    { GWK_MEDIA_S3_URL: 'http://own.test:9000', GWK_MEDIA_S3_PATH_STYLE: 'on' },
    'http://own.test:9000/files',
  ],
])('resolves the address of a bucket with %s in the environment', async (_, environment, own, url) => {
  Object.assign(process.env, environment);
  const config = loadConfig(mediaStoreSettings, own);
  const client = openClient(config);
  expect(String(await resolveBucket(client, 'files', config))).toBe(url);
  client.destroy();
});

test.each([
  ['https://files.s3.test/', 'a/b', 'https://files.s3.test/a/b'],
  ['https://files.s3.test/', '/gwk/b', 'https://files.s3.test//gwk/b'],
  ['http://s3.test:9000/files', 'a/b', 'http://s3.test:9000/files/a/b'],
])('finds in %s the object %s', (bucket, key, url) => {
  expect(String(findObject(new URL(bucket), key))).toBe(url);
});

const openBody = () => new Readable({ read() {} });

test('closes a body that nobody reads for 30 s', async () => {
  const clock = new ManualClock();
  const body = openBody();
  const bytes = freeAfterUse(body, clock);
  clock.advance(29_999);
  expect(body.destroyed).toBe(false);
  clock.advance(1);
  expect(body.destroyed).toBe(true);
  await expect(bytes[Symbol.asyncIterator]().next()).rejects.toThrow();
});

test('keeps a body open once its reading began', async () => {
  const clock = new ManualClock();
  const body = openBody();
  const next = freeAfterUse(body, clock)[Symbol.asyncIterator]().next();
  clock.advance(60_000);
  body.push('a');
  expect((await next).value).toEqual(Buffer.from('a'));
});

test('reports the error of a body that broke before it was read', async () => {
  const body = openBody();
  const bytes = freeAfterUse(body, new ManualClock());
  body.destroy(new Error('broken off'));
  await new Promise((resolve) => body.once('close', resolve));
  await expect(bytes[Symbol.asyncIterator]().next()).rejects.toThrow('broken off');
});

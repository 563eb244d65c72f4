import * as stockCrypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import StockCache from '@cacheable/node-cache';
import { proto as stockProto } from '@whiskeysockets/baileys';
import * as stockBridge from 'whatsapp-rust-bridge';
import * as crypto from './crypto.js';
import * as bridge from './rust-bridge.js';
import SlimCache from './node-cache.js';
import * as zlib from './zlib.js';
import { proto } from './proto.js';

const slimProto = proto as typeof stockProto;

/** All members of a type by path; functions as their code. */
function membersOf(type: object, path: string, found = new Map<string, unknown>()): Map<string, unknown> {
  for (const name of Object.getOwnPropertyNames(type)) {
    if (['length', 'name', 'arguments', 'caller', 'constructor'].includes(name)) continue;
    const value = (type as Record<string, unknown>)[name];
    const at = `${path}.${name}`;
    if (typeof value === 'function' || (typeof value === 'object' && value !== null)) {
      found.set(at, typeof value === 'function' ? String(value) : 'object');
      membersOf(value, at, found);
    } else found.set(at, value);
  }
  return found;
}

describe('protocol buffers', () => {
  test("are the same as Baileys', type by type and line by line", () => {
    const stock = membersOf(stockProto, 'proto');
    const slim = membersOf(slimProto, 'proto');
    expect(slim.size).toBeGreaterThan(10_000);
    const different = [...stock].filter(([name, value]) => slim.get(name) !== value).map(([name]) => name);
    expect(different).toEqual([]);
    expect([...slim.keys()].filter((name) => !stock.has(name))).toEqual([]);
  });

  test('decode what the others encode', () => {
    const message = {
      extendedTextMessage: { text: 'oi', contextInfo: { mentionedJid: ['1@s.whatsapp.net'] } },
      messageContextInfo: { messageSecret: stockCrypto.randomBytes(32) },
    };
    const bytes = slimProto.Message.encode(slimProto.Message.create(message)).finish();
    expect(Buffer.from(stockProto.Message.encode(message).finish())).toEqual(Buffer.from(bytes));
    const decoded = stockProto.Message.encode(slimProto.Message.decode(bytes)).finish();
    expect(Buffer.from(decoded)).toEqual(Buffer.from(bytes));
  });
});

describe('cryptography', () => {
  const key = stockCrypto.randomBytes(32);

  test.each([
    ['with neither salt nor info', {}],
    ['with info', { info: 'adv_secret' }],
    ['with salt', { salt: stockCrypto.randomBytes(32), info: '' }],
    [
      'with salt and info',
      { salt: stockCrypto.randomBytes(32), info: 'link_code_pairing_key_bundle_encryption_key' },
    ],
    ['with bytes as info', { info: Buffer.from('Bot Message').toString('latin1') }],
    ['with info that is no text', { info: stockCrypto.randomBytes(40).toString('latin1') }],
  ])('keys are derived alike, %s', (_how, how) => {
    for (const length of [32, 64, 112])
      expect(Buffer.from(bridge.hkdf(key, length, how))).toEqual(
        Buffer.from(stockBridge.hkdf(key, length, how)),
      );
  });

  test('hashes are the same', () => {
    expect(Buffer.from(bridge.md5(key))).toEqual(Buffer.from(stockBridge.md5(key)));
  });

  test('ciphers and codes are the same, and take bytes and key objects', () => {
    const iv = stockCrypto.randomBytes(12);
    for (const given of [key, new Uint8Array(key), stockCrypto.createSecretKey(key)]) {
      const encrypted = crypto.createCipheriv('aes-256-gcm', given, iv).update('text');
      expect(encrypted).toEqual(stockCrypto.createCipheriv('aes-256-gcm', key, iv).update('text'));
      const decrypted = crypto.createDecipheriv('aes-256-gcm', given, iv).update(encrypted);
      expect(decrypted.toString()).toBe('text');
      const code = crypto.createHmac('sha512', given).update('text').digest();
      expect(code).toEqual(stockCrypto.createHmac('sha512', key).update('text').digest());
    }
    expect(() => crypto.createCipheriv('aes-256-gcm', stockCrypto.randomBytes(31), iv)).toThrow(
      'Invalid key length',
    );
    expect(crypto.createHash).toBe(stockCrypto.createHash);
  });

  // If Node takes bytes as fast as key objects, remove the replacement.
  test('Node still throws and catches an error for keys in bytes', () => {
    const iv = stockCrypto.randomBytes(12);
    const timeOf = (given: Uint8Array | stockCrypto.KeyObject): number => {
      const times = Array.from({ length: 200 }, () => {
        const from = performance.now();
        stockCrypto.createCipheriv('aes-256-gcm', given, iv);
        return performance.now() - from;
      });
      return Math.min(...times);
    };
    expect(timeOf(key)).toBeGreaterThan(1.5 * timeOf(stockCrypto.createSecretKey(key)));
  });

  test('app state keys are the same', () => {
    const { indexKey, valueEncryptionKey, valueMacKey, snapshotMacKey, patchMacKey } =
      stockBridge.expandAppStateKeys(key);
    const slim = bridge.expandAppStateKeys(key);
    expect(slim).toEqual({ indexKey, valueEncryptionKey, valueMacKey, snapshotMacKey, patchMacKey });
  });

  test('app state sums are the same', () => {
    const [base, some, others] = [
      stockCrypto.randomBytes(128),
      [key, stockCrypto.randomBytes(32)],
      [stockCrypto.randomBytes(32)],
    ];
    const stock = new stockBridge.LTHashAntiTampering().subtractThenAdd(base, some, others);
    const slim = new bridge.LTHashAntiTampering().subtractThenAdd(base, some, others);
    expect(Buffer.from(slim)).toEqual(Buffer.from(stock));
  });
});

describe('caches', () => {
  /** Advances the clocks of both. */
  function pass(ms: number): void {
    for (const clock of [Date, performance]) jest.spyOn(clock, 'now').mockReturnValue(clock.now() + ms);
  }
  afterEach(() => jest.restoreAllMocks());

  test.each([
    ['of the engine', SlimCache],
    ['as they come', StockCache],
  ])('%s keep values until they expire', (_whose, Cache) => {
    const cache = new Cache<unknown>({ stdTTL: 2 });
    cache.set('a', 1);
    cache.mset([
      { key: 'b', value: 2 },
      { key: 3, value: 3 },
    ]);
    expect(cache.get('a')).toBe(1);
    expect(cache.has('none')).toBe(false);
    expect(cache.get('none')).toBeUndefined();
    expect(cache.mget(['b', 'none', '3'])).toEqual({ b: 2, 3: 3 });
    cache.del('b');
    expect(cache.has('b')).toBe(false);
    pass(1_900);
    expect(cache.get('a')).toBe(1);
    pass(200);
    expect(cache.get('a')).toBeUndefined();
    cache.set('c', 1);
    cache.flushAll();
    expect(cache.has('c')).toBe(false);
    cache.close();
  });
});

test('a cache keeps a limited number of the latest entries', () => {
  const cache = new SlimCache<number>();
  for (let n = 0; n < 25_000; n++) cache.set(n, n);
  expect([cache.get(24_999), cache.get(15_000), cache.get(14_999)]).toEqual([24_999, 15_000, undefined]);
});

describe('compressed data', () => {
  const small = stockCrypto.randomBytes(100_000);
  const unpack = promisify(zlib.inflate);
  async function stream(packed: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const inflater = zlib.createInflate();
    inflater.on('data', (chunk: Buffer) => chunks.push(chunk));
    await pipeline(Readable.from([packed]), inflater);
    return Buffer.concat(chunks);
  }

  test('is decompressed, whole or as a stream', async () => {
    expect(await unpack(deflateSync(small))).toEqual(small);
    expect(await stream(deflateSync(small))).toEqual(small);
  });

  test('is refused when it decompresses beyond the limit', async () => {
    const bomb = deflateSync(Buffer.alloc(100_000_000));
    expect(bomb.length).toBeLessThan(110_000);
    await expect(unpack(bomb)).rejects.toThrow();
    await expect(stream(bomb)).rejects.toThrow('decompressed data exceeds the limit');
    await expect(stream(stockCrypto.randomBytes(100))).rejects.toThrow();
  });

  test('is decompressed by Baileys with these two functions only', () => {
    const read = (file: string) => readFileSync(new URL(import.meta.resolve(`@whiskeysockets/baileys/lib/${file}`)), 'utf8'); // prettier-ignore
    const taken = ['Utils/history.js', 'WABinary/decode.js'].map((file) => /import \{(.*)\} from 'zlib'/.exec(read(file))?.[1]?.trim()); // prettier-ignore
    expect(taken).toEqual(['createInflate, inflate', 'inflate']);
  });
});

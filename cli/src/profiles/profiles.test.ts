import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError, describeFailure } from '../errors.js';
import { createClient } from '../gateway/client.js';
import {
  addProfile,
  chooseAccess,
  findProfilePath,
  hideKey,
  isExposed,
  parseAddress,
  readProfiles,
  removeProfile,
  writeProfiles,
} from './profiles.js';

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const SHOP = { url: 'https://shop.example.org', key: 'gwk_live_shop' };

const FILE = { current: 'shop', profiles: { shop: SHOP } };

describe('profiles', () => {
  test.each([
    ['linux', {}, '/home/ana/.config/gwk/profiles.json'],
    ['linux', { XDG_CONFIG_HOME: '/etc/ana' }, '/etc/ana/gwk/profiles.json'],
    ['darwin', {}, '/home/ana/Library/Application Support/gwk/profiles.json'],
    ['win32', { APPDATA: '/roaming' }, '/roaming/gwk/profiles.json'],
  ])('are stored on %s with %j in %s', (platform, env, path) => {
    expect(findProfilePath(platform, env, '/home/ana')).toBe(path);
  });

  test.each([
    ['the current one', {}, undefined, SHOP],
    ['the named one', { GWK_URL: 'https://other.example.org' }, 'shop', SHOP],
    [
      'the environment',
      { GWK_URL: 'http://127.0.0.1:8080/', GWK_API_KEY: 'k' },
      undefined,
      { url: 'http://127.0.0.1:8080', key: 'k' },
    ],
    ['the stored key, if the variable is empty', { GWK_API_KEY: '' }, undefined, SHOP],
    [
      'no stored key for another gateway',
      { GWK_URL: 'https://other.example.org' },
      undefined,
      { url: 'https://other.example.org', key: null },
    ],
  ])('choose %s', (_, env, named, access) => {
    expect(chooseAccess(FILE, env, named)).toEqual(access);
  });

  test('refuse an unknown name, and no gateway at all', () => {
    expect(() => chooseAccess(FILE, {}, 'other')).toThrow('no profile "other"');
    expect(() => chooseAccess({ current: 'default', profiles: {} }, {}, undefined)).toThrow('gwk login');
  });

  test.each([
    ['a key without its gateway', { GWK_API_KEY: 'k' }, undefined, 'GWK_API_KEY needs GWK_URL'],
    ['a name that every object has', {}, 'constructor', 'no profile "constructor"'],
  ])('refuse %s', (_, env, named, message) => {
    expect(() => chooseAccess(FILE, env, named)).toThrow(message);
  });

  test.each(['gwk_live_a\ngwk_live_b', 'gwk_live_é', 'gwk live', ''])(
    'refuse the key %j unprinted',
    (key) => {
      const error = catchError(() => createClient({ url: SHOP.url, key }));
      expect(describeFailure(error)).toEqual({ code: 2, text: expect.not.stringMatching(/gwk.live/) });
    },
  );

  test('the file is readable by its owner alone, and comes back', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-profiles-'));
    try {
      const path = join(folder, 'gwk/profiles.json');
      expect(readProfiles(path).profiles).toEqual({});
      writeProfiles(addProfile(readProfiles(path), 'shop', SHOP), path);
      writeProfiles(addProfile(readProfiles(path), 'two', SHOP), path);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readProfiles(path)).toEqual({ current: 'two', profiles: { shop: SHOP, two: SHOP } });
      expect(removeProfile(readProfiles(path), 'two')).toEqual(FILE);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ['gwk.example.org', 'https://gwk.example.org'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['https://example.org/gwk/', 'https://example.org/gwk'],
  ])('read the address %s as %s', (text, url) => expect(parseAddress(text)).toBe(url));

  test.each(['ftp://a', 'https://user:pw@host', 'a b', ''])('refuse the address "%s"', (text) => {
    expect(() => parseAddress(text)).toThrow(CliError);
  });

  test('a key is shown by its beginning, and exposed by plain HTTP to another machine', () => {
    expect(hideKey('gwk_live_abcdefghijklmnop')).toBe('gwk_live_abcd...');
    expect(['http://gwk.example.org', 'http://127.0.0.1:80', 'https://a.org'].map(isExposed)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

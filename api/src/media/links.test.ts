import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import type { Problem } from '@gwk/core/problems/problems';
import { MediaLinks } from './links.js';

const key = () => randomBytes(32).toString('base64');
const linksOf = (...keys: string[]) =>
  new MediaLinks(new Sealer(parseEncryptionKeys(keys.join(','))), 'https://media.example.org/files/');
const partsOf = (link: string) => {
  const url = new URL(link);
  return {
    id: url.pathname.split('/').at(-1)!,
    expires: url.searchParams.get('expires'),
    signature: url.searchParams.get('signature'),
  };
};

/** Returns the id of the file, or the code of the problem. */
function openLink(keys: string[], link: Parameters<MediaLinks['open']>[0], now: number): string {
  try {
    return linksOf(...keys).open(link, now);
  } catch (error) {
    return (error as Problem).code;
  }
}

const NOW = Date.UTC(2026, 10, 21, 12);
const OLD = key();
const NEW = key();
const id = newUuid();

test('a link is under {media_url} and has the id of its file', () => {
  const link = linksOf(OLD).make(id, 3600, NOW);
  expect(link).toMatch(
    /^https:\/\/media\.example\.org\/files\/media\/med_[0-9a-f]{32}\?expires=\d+&signature=/,
  );
  expect(openLink([OLD], partsOf(link), NOW)).toBe(id);
});

test('a link expires', () => {
  const link = partsOf(linksOf(OLD).make(id, 3600, NOW));
  expect(openLink([OLD], link, NOW + 3_599_000)).toBe(id);
  expect(openLink([OLD], link, NOW + 3_600_000)).toBe('media-expired');
});

test('a link is valid while the key that made it is configured', () => {
  const link = partsOf(linksOf(OLD).make(id, 3600, NOW));
  expect(openLink([NEW, OLD], link, NOW)).toBe(id);
  expect(openLink([NEW], link, NOW)).toBe('not-found');
});

test.each<[string, Partial<Record<'id' | 'expires' | 'signature', unknown>>]>([
  ['another id', { id: 'med_00000000000000000000000000000000' }],
  ['an id of another kind', { id: 'msg_00000000000000000000000000000000' }],
  ['another expiry', { expires: '1800000000' }],
  ['no expiry', { expires: undefined }],
  ['an expiry that is not a number', { expires: '1e12' }],
  ['no signature', { signature: undefined }],
  ['several signatures', { signature: ['a', 'b'] }],
  ['an empty signature', { signature: '' }],
])('%s is a forged link', (_, change) => {
  const link = { ...partsOf(linksOf(OLD).make(id, 3600, NOW)), ...change } as ReturnType<typeof partsOf>;
  expect(openLink([OLD], link, NOW)).toBe('not-found');
});

test.each<[string, (signature: string) => string]>([
  ['padding', (signature) => `${signature}==`],
  ['the alphabet of plain base64', (signature) => signature.replace('-', '+').replace('_', '/')],
  [
    'other unused bits in the last letter',
    (signature) => signature.slice(0, -1) + nextLetter(signature.at(-1)!),
  ],
  ['a line end', (signature) => `${signature}\n`],
])('a signature with %s is a forged link', (_, spell) => {
  const made = Array.from({ length: 200 }, () => partsOf(linksOf(OLD).make(newUuid(), 3600, NOW)));
  const { id: name, expires, signature } = made.find((link) => /-.*_|_.*-/.test(link.signature!))!;
  const given = spell(signature!);
  expect(Buffer.from(given, 'base64url')).toEqual(Buffer.from(signature!, 'base64url'));
  expect(openLink([OLD], { id: name, expires, signature: given }, NOW)).toBe('not-found');
});

/** The letter whose value is one higher: the last letter of 32 bytes has two unused bits. */
function nextLetter(letter: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return letters[letters.indexOf(letter) + 1]!;
}

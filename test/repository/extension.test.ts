import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/program.js';

/** The parts of the browser extension that need no browser. `test/console/passkey-extension.test.ts` has the others. */
const FOLDER = join(ROOT, 'extension');
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');
const readJson = (file: string) => JSON.parse(read(file)) as Record<string, unknown>;

interface Request {
  name: string;
  phone: string | null;
  expiresAt: number;
  publicKey: Record<string, unknown>;
}
type ReadRequest = (text: string | null, now: number) => Request & { error?: string };

const NOW = Date.parse('2026-11-30T12:00:00Z');
const NONE = { error: 'noRequest' };
const OPTIONS = {
  challenge: 'Y2hhbGxlbmdl',
  rpId: 'whatsapp.com',
  timeout: 600_000,
  userVerification: 'required',
  allowCredentials: [{ id: 'aWQ', type: 'public-key', transports: ['hybrid'] }],
};
const ASKED = { name: 'Shop', phone: '+5511987654321', expires_at: '2026-11-30T12:05:00Z', options: OPTIONS };

let readRequest: ReadRequest;
beforeAll(async () => {
  const url = pathToFileURL(join(FOLDER, 'request.js')).href;
  ({ readRequest } = (await import(url)) as { readRequest: ReadRequest });
});
const readWith = (special: object) => readRequest(JSON.stringify({ ...ASKED, ...special }), NOW);
const readOptions = (special: object) => readWith({ options: { ...OPTIONS, ...special } });

test('passes on the known fields of a request, for the time that is left', () => {
  expect(readWith({})).toEqual({
    name: 'Shop',
    phone: '+5511987654321',
    expiresAt: NOW + 300_000,
    publicKey: { ...OPTIONS, timeout: 300_000 },
  });
});

test('asks for no results of WebAuthn extensions, which can be secrets of the passkey', () => {
  const { publicKey } = readOptions({ extensions: { prf: { eval: { first: 'AA' } } }, mediation: 'silent' });
  expect(Object.keys(publicKey).sort()).toEqual(Object.keys(OPTIONS).sort());
});

test.each([
  ['another relying party', { rpId: 'example.org' }],
  ['no challenge', { challenge: undefined }],
  ['a challenge that is no base64url', { challenge: 'a b' }],
  ['passkeys that are no list', { allowCredentials: {} }],
  ['more passkeys than 64', { allowCredentials: Array(65).fill(OPTIONS.allowCredentials[0]) }],
  ['a passkey of another type', { allowCredentials: [{ id: 'aWQ', type: 'password' }] }],
])('refuses options with %s', (_, special) => expect(readOptions(special)).toEqual(NONE));

test.each([
  ['a request without an end', { expires_at: null }],
  ['a request without options', { options: null }],
  ['a request without a name', { name: undefined }],
  ['an oversized request', { more: 'x'.repeat(20_000) }],
])('refuses %s', (_, special) => expect(readWith(special)).toEqual(NONE));

test.each(['2026-11-30T12:00:00Z', '2026-11-30T14:00:00Z'])(
  'reports that the request, or the clock, is not in time for an end at %s',
  (expires_at) => expect(readWith({ expires_at })).toEqual({ error: 'expired' }),
);

test.each([null, '', 'null', '[]', '{'])('refuses the text %j', (text) =>
  expect(readRequest(text, NOW)).toEqual(NONE),
);

test.each([
  ['\u202eevil\u2066', 'evil'],
  ['a\u0000b\u200bc\u2028d', 'abcd'],
  ['a\u0301\u0301\u0301\u200b\u0301b\u0489', 'a\u0301\u0301b\u0489'],
  ['  a \t\u00a0 b  ', 'a b'],
  ['\ud83d\ude00'.repeat(100), '\ud83d\ude00'.repeat(80)],
])('shows the name %j as %j', (name, shown) => expect(readWith({ name }).name).toBe(shown));

test.each(['5511987654321', '+55 11', '+1<b>', 5511, null])('shows no phone number for %j', (phone) =>
  expect(readWith({ phone }).phone).toBeNull(),
);

test('the extension has one host, and the rights that its page describes', () => {
  const { host_permissions, permissions, ...manifest } = readJson('manifest.json');
  expect(host_permissions).toEqual(['https://web.whatsapp.com/*']);
  expect(permissions).toEqual(['activeTab', 'scripting']);
  for (const right of [...(permissions as string[]), 'https://web.whatsapp.com/*'])
    expect(read('README.md')).toContain(`\`${right}\``);
  // Pages cannot open it, and it runs on none by itself.
  for (const field of [
    'web_accessible_resources',
    'externally_connectable',
    'content_scripts',
    'optional_permissions',
  ])
    expect(manifest).not.toHaveProperty(field);
  expect(manifest['version']).toBe(
    (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version,
  );
});

test('both languages have each text that the extension shows', () => {
  const [english, portuguese] = ['en', 'pt_BR'].map((name) => readJson(`_locales/${name}/messages.json`));
  const texts = Object.keys(english!).sort();
  expect(Object.keys(portuguese!).sort()).toEqual(texts);
  const sources = readdirSync(FOLDER)
    .filter((file) => /\.(?:js|html|json)$/.test(file))
    .map(read)
    .join('\n');
  const used = [
    ...sources.matchAll(
      /data-text="(\w+)"|__MSG_(\w+)__|Refusal\('(\w+)'\)|error: '(\w+)'|runIn\(target, '(\w+)'|: '(unexpected)'|text\('(\w+)'\)/g,
    ),
  ].map((match) => match.slice(1).find(Boolean)!);
  expect([...new Set(used)].sort()).toEqual(texts);
});

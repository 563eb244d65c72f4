import { createHash } from 'node:crypto';
import { chooseWay, findOpener, makeLoginAddress, newProof, shortenChallenge } from './browser-login.js';

describe('gwk login', () => {
  test.each([
    ['asks in the browser at a terminal', { browser: true }, true, 'browser'],
    ['reads a key from a pipe', { browser: true }, false, 'input'],
    ['asks for a key with --key', { key: true, browser: true }, true, 'prompt'],
    ['reads a key from a pipe with --key', { key: true, browser: true }, false, 'input'],
    ['prints the address with --no-browser', { browser: false }, true, 'browser'],
    ['prints the address with --no-browser, also without a terminal', { browser: false }, false, 'browser'],
    ['prefers --key to --no-browser', { key: true, browser: false }, true, 'prompt'],
  ] as const)('%s', (_, choice, isTerminal, way) => expect(chooseWay(choice, isTerminal)).toBe(way));

  test.each([
    ['linux', { DISPLAY: ':0' }, ['xdg-open']],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
    ['linux', { DISPLAY: '' }, null],
    ['darwin', {}, ['open']],
    ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler']],
  ])('opens the browser on %s with %j by %j', (platform, env, command) =>
    expect(findOpener(platform, env)).toEqual(command),
  );

  test('proves by a verifier of 256 random bits that the code is its own', () => {
    const { verifier, challenge } = newProof();
    expect(Buffer.from(verifier, 'base64url')).toHaveLength(32);
    expect(challenge).toBe(createHash('sha256').update(verifier).digest('hex'));
    expect(newProof().verifier).not.toBe(verifier);
  });

  test('shows the beginning of the challenge as a code', () => {
    expect(shortenChallenge(`0a1bff42${'0'.repeat(56)}`)).toBe('0A1B-FF42');
  });

  test.each([
    ['https://gwk.example.org', 'https://gwk.example.org/console/approve-key'],
    ['https://example.org/gwk', 'https://example.org/console/approve-key'],
    ['http://localhost:8080', 'http://localhost:8080/console/approve-key'],
  ])('of %s leads to %s, with all in the fragment', (consoleUrl, page) => {
    const request = { challenge: 'ab', port: '4711', name: 'gwk on Ana & Rui #1' };
    const address = new URL(makeLoginAddress(consoleUrl, request));
    expect(address.origin + address.pathname + address.search).toBe(page);
    expect(Object.fromEntries(new URLSearchParams(address.hash.slice(1)))).toEqual(request);
  });
});

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RECORD_VERSION } from './session-migration.js';

/**
 * These tests show that stock Baileys still needs the changes that save memory or time. If one fails after an upgrade,
 * measure an engine without the change. Remove it if it saves less than 1 MB, and no time for a text.
 */
const baileys = dirname(fileURLToPath(import.meta.resolve('@whiskeysockets/baileys')));
const read = (file: string): string => readFileSync(join(baileys, file), 'utf8');

/** The modules of Baileys that import a module. */
const importersOf = (specifier: string): string[] =>
  readdirSync(baileys, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.js') && read(file).includes(`from '${specifier}'`),
  );

test('all protocol buffers are in one file of more than 4 MB', () => {
  expect(statSync(join(baileys, '../WAProto/index.js')).size).toBeGreaterThan(4_000_000);
});

test('the Rust bridge contains its WebAssembly in base64', () => {
  const bridge = readFileSync(new URL(import.meta.resolve('whatsapp-rust-bridge')), 'utf8');
  expect(bridge.length).toBeGreaterThan(1_000_000);
  expect(importersOf('whatsapp-rust-bridge')).not.toEqual([]);
});

test('the index loads the constants of the telemetry', () => {
  expect(importersOf('./WAM/index.js')).toEqual(['index.js']);
});

test('sockets create caches of @cacheable/node-cache', () => {
  expect(importersOf('@cacheable/node-cache').length).toBeGreaterThan(3);
});

test('Baileys brings a release of pino of its own', () => {
  expect(existsSync(join(baileys, '../node_modules/pino/package.json'))).toBe(true);
});

test('libsignal stores records of the version that the engine reads', () => {
  const record = readFileSync(new URL(import.meta.resolve('libsignal/src/session_record.js')), 'utf8');
  expect(record).toContain(`const SESSION_RECORD_VERSION = '${RECORD_VERSION}'`);
});

test('data is decompressed without a limit', () => {
  for (const file of importersOf('zlib')) expect(read(file)).not.toContain('maxOutputLength');
});

test('libsignal verifies signatures in JavaScript', () => {
  const curve = readFileSync(new URL(import.meta.resolve('libsignal/src/curve.js')), 'utf8');
  expect(curve).toMatch(/curveJs\.verify|curve25519/);
});

test('every patch is described in the README', () => {
  const folder = dirname(fileURLToPath(import.meta.url));
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const patches = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  expect(patches.filter((file) => !readme.includes(`\`${file}\``))).toEqual([]);
});

test('no file outside this folder changes Baileys', () => {
  const driver = dirname(dirname(fileURLToPath(import.meta.url)));
  const changing = /\.prototype\b|removeAllListeners|registerHooks|WA_CERT_DETAILS|\bws as unknown\b/;
  const changed = readdirSync(driver, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.ts') &&
      !file.endsWith('.test.ts') &&
      !file.startsWith('patches/') &&
      changing.test(readFileSync(join(driver, file), 'utf8')),
  );
  expect(changed).toEqual([]);
});

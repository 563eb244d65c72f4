import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Logger } from '@gwk/core/process/log';
import { createBaileysLogger } from './baileys-logger.js';

function captureLogs(work: (logger: ReturnType<typeof createBaileysLogger>) => void): unknown[] {
  const said: unknown[] = [];
  const note =
    (level: string) =>
    (...what: unknown[]) =>
      said.push([level, ...what]);
  work(createBaileysLogger({ debug: note('debug'), warn: note('warn') } as unknown as Logger));
  return said;
}

test('passes on only the texts of warnings and errors', () => {
  const secret = { rootKey: 'a root key' };
  const said = captureLogs((logger) => {
    for (const level of ['trace', 'debug', 'info'] as const) logger[level](secret, 'a text');
    logger.child(secret).warn(secret, 'a warning');
    logger.error(secret, 'an error');
    logger.error('an error alone');
    logger.error(secret);
  });
  expect(said).toEqual([
    ['debug', { library: 'baileys' }, 'a warning'],
    ['warn', { library: 'baileys' }, 'an error'],
    ['warn', { library: 'baileys' }, 'an error alone'],
  ]);
});

test('masks phone numbers and LIDs in the texts', () => {
  const said = captureLogs((logger) => {
    logger.warn('Invalid LID-PN mapping: 1234567890:12@lid, 5511987654321@s.whatsapp.net');
    logger.error({}, 'parking after 3 attempts');
  });
  expect(said).toEqual([
    ['debug', { library: 'baileys' }, 'Invalid LID-PN mapping: …:12@lid, …@s.whatsapp.net'],
    ['warn', { library: 'baileys' }, 'parking after 3 attempts'],
  ]);
});

/**
 * The parts of such texts in Baileys: names, counts, and ids whose long numbers are masked. Review anything new
 * before it is passed on.
 */
const KNOWN = [
  'attemptsMap[name]',
  'hostname',
  "isLast ? '' : ', retrying...'",
  'keyId',
  'keyType',
  'lid',
  'lidUser',
  'msg',
  'name',
  'pn',
  'retriesLeft',
  'states[name].version',
];

test('Baileys puts no messages or keys into these texts', () => {
  const lib = dirname(createRequire(import.meta.url).resolve('@whiskeysockets/baileys'));
  const sources = globSync('**/*.js', { cwd: lib }).map((file) => readFileSync(`${lib}/${file}`, 'utf8'));
  const calls = sources.flatMap((source) => source.match(/logger\??\.(?:warn|error)\([^;]*`[^`]*`/g) ?? []);
  expect(calls.length).toBeGreaterThan(5);
  const put = calls.flatMap((call) =>
    [...call.matchAll(/\$\{((?:[^{}]|\{[^}]*\})*)\}/g)].map(([, what]) => what!),
  );
  expect([...new Set(put)].sort()).toEqual(KNOWN);
});

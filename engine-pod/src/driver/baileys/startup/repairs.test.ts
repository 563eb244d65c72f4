import { jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { silenceConsole } from './quiet.js';

interface SessionRecord {
  closeSession: (session: unknown) => void;
}
const SessionRecord = createRequire(import.meta.url)(
  'libsignal/src/session_record.js',
) as new () => SessionRecord;

/** Baileys as it comes, in a registry of its own. */
async function stock() {
  jest.resetModules();
  return import('@whiskeysockets/baileys');
}

describe('signatures', () => {
  const message = Buffer.from('a message');

  test('are taken for good by Baileys as it comes, forged or not: once this fails the repair may go', async () => {
    const { Curve } = await stock();
    const key = Curve.generateKeyPair();
    expect(Curve.verify(key.public, message, Buffer.alloc(64, 1))).toBe(true);
  });

  test('are refused when forged, once repaired', async () => {
    const { Curve } = await stock();
    await import('./repairs.js');
    const key = Curve.generateKeyPair();
    const signature = Curve.sign(key.private, message);
    expect(Curve.verify(key.public, message, signature)).toBe(true);
    const forged = Buffer.from(signature);
    forged[3]! ^= 1;
    expect(Curve.verify(key.public, message, forged)).toBe(false);
    expect(Curve.verify(key.public, Buffer.from('another message'), signature)).toBe(false);
    expect(Curve.verify(key.public, message, Buffer.alloc(3))).toBe(false);
  });
});

describe('the console', () => {
  test('is written to by libsignal with whole sessions: once this fails the silence may go', () => {
    const info = jest.spyOn(console, 'info').mockImplementation(() => undefined);
    const session = { indexInfo: { closed: -1 }, currentRatchet: { rootKey: 'a root key' } };
    new SessionRecord().closeSession(session);
    expect(info.mock.calls).toEqual([['Closing session:', session]]);
    info.mockRestore();
  });

  test('says nothing once silenced', () => {
    const said: unknown[] = [];
    const say = (...what: unknown[]): void => void said.push(what);
    const target = { debug: say, error: say, info: say, log: say, trace: say, warn: say };
    silenceConsole(target);
    for (const level of Object.keys(target) as (keyof typeof target)[]) target[level]('Closing session:', {});
    expect(said).toEqual([]);
  });

  test('is silent before libsignal is loaded', () => {
    const first = readFileSync(new URL('./repairs.ts', import.meta.url), 'utf8').split('\n')[0];
    expect(first).toBe("import './quiet.js';");
  });
});

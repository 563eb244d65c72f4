import type { Disconnect } from '../../driver.js';
import {
  classifyDisconnect,
  classifyPairingDisconnect,
  parseDisconnectError,
  type DisconnectError,
} from './disconnects.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const ending = (
  code: number | undefined,
  attrs: Record<string, string> = {},
  text = '',
): DisconnectError => ({
  code,
  attrs,
  text,
});
const dropped = (reason: string): Disconnect => ({ kind: 'dropped', reason });

test.each<[string, DisconnectError, Disconnect]>([
  [
    '515 reconnects at once',
    ending(515),
    { ...dropped('restart_required'), reconnect: 'at-once' } as Disconnect,
  ],
  ['401 is a logout', ending(401), { kind: 'logged-out', reason: 'device_removed' }],
  ['411 is a logout', ending(411), { kind: 'logged-out', reason: 'linked_in_an_old_way' }],
  [
    '402 is a ban with an end',
    ending(402, { code: '101', expire: '3600' }),
    { kind: 'banned', code: '101', expiresAt: new Date(NOW + 3_600_000) },
  ],
  [
    '402 without an end is retried after a minute',
    ending(402),
    { kind: 'banned', code: '402', expiresAt: new Date(NOW + 60_000) },
  ],
  ['403 is a ban', ending(403), { kind: 'banned', code: '403', expiresAt: null }],
  ['406 is a ban', ending(406), { kind: 'banned', code: '406', expiresAt: null }],
  ['440 never reconnects', ending(440), { kind: 'replaced' }],
  [
    '405 reconnects slowly',
    ending(405),
    { ...dropped('version_rejected_405'), reconnect: 'slowly' } as Disconnect,
  ],
  [
    '409 reconnects slowly',
    ending(409),
    { ...dropped('version_rejected_409'), reconnect: 'slowly' } as Disconnect,
  ],
  [
    'a forged certificate is retried slowly',
    ending(400, {}, 'noise certificate signature invalid'),
    { ...dropped('certificate_rejected'), reconnect: 'slowly' } as Disconnect,
  ],
  ['400 for another reason is a drop', ending(400), dropped('stream_error_400')],
  ['408 is a drop', ending(408), dropped('timed_out')],
  ['428 is a drop', ending(428), dropped('connection_closed')],
  ['500 is a drop', ending(500), dropped('stream_error')],
  ['503 is a drop', ending(503), dropped('unavailable')],
  ['an unknown code is a drop', ending(599), dropped('stream_error_599')],
  ['unknown codes share one reason', ending(1234567), dropped('stream_error_other')],
  ['NaN is a drop', ending(NaN), dropped('stream_error_other')],
  ['no code is a drop', ending(undefined), dropped('connection_lost')],
])('%s', (_, given, expected) => {
  expect(classifyDisconnect(given, NOW)).toEqual(expected);
});

test.each<[string, DisconnectError, Disconnect]>([
  [
    'a forged account signature',
    ending(500, {}, 'Failed to verify account signature'),
    { kind: 'pairing-failed', reason: 'signature_refused' },
  ],
  ['a refusal', ending(401), { kind: 'pairing-failed', reason: 'refused_by_the_network' }],
  ['a drop stays one', ending(428), dropped('connection_closed')],
  ['a ban stays one', ending(406), { kind: 'banned', code: '406', expiresAt: null }],
])('while pairing: %s', (_, given, expected) => {
  expect(classifyPairingDisconnect(given, NOW)).toEqual(expected);
});

test.each([
  [
    'attributes of a failure',
    { message: 'm', output: { statusCode: 402 }, data: { reason: '402', expire: '5' } },
    { code: 402, text: 'm', attrs: { reason: '402', expire: '5' } },
  ],
  [
    'the node of a stream error',
    { message: 'm', output: { statusCode: 440 }, data: { tag: 'conflict', attrs: { type: 'replaced' } } },
    { code: 440, text: 'm', attrs: { type: 'replaced' } },
  ],
  [
    'data that carries more than codes',
    {
      message: 'm',
      output: { statusCode: 500 },
      data: {
        jid: '5511987654321@s.whatsapp.net',
        content: [{ tag: 'enc' }],
        code: { a: 1 },
        location: 'odn',
      },
    },
    { code: 500, text: 'm', attrs: { location: 'odn' } },
  ],
  [
    'a node whose attributes name people',
    {
      message: 'm',
      output: { statusCode: 401 },
      data: { attrs: { from: '5511987654321@s.whatsapp.net', code: '401' } },
    },
    { code: 401, text: 'm', attrs: { code: '401' } },
  ],
  ['no error at all', undefined, { code: undefined, text: '', attrs: {} }],
])('an ending is read from %s', (_, error, expected) => {
  expect(parseDisconnectError(error)).toEqual(expected);
});

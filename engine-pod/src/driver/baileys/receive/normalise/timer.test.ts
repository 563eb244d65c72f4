import { proto } from '@whiskeysockets/baileys';
import { readTimer } from './timer.js';

const AT = new Date('2026-03-10T12:00:00Z');
const SECONDS = AT.getTime() / 1_000;
const { EPHEMERAL_SETTING, EPHEMERAL_SYNC_RESPONSE, REVOKE } = proto.Message.ProtocolMessage.Type;

const withContext = (contextInfo: proto.IContextInfo): proto.IMessage => ({
  extendedTextMessage: { text: 'oi', contextInfo },
});
const notice = (protocolMessage: proto.Message.IProtocolMessage): proto.IMessage => ({ protocolMessage });

test.each<[string, proto.IMessage, [number, Date] | null]>([
  ['a text without a context', { conversation: 'oi' }, null],
  ['a context without a timer', withContext({ stanzaId: 'A' }), null],
  [
    'a timer with its time',
    withContext({ expiration: 86_400, ephemeralSettingTimestamp: SECONDS - 60 }),
    [86_400, new Date(AT.getTime() - 60_000)],
  ],
  ['a timer without its time', withContext({ expiration: 604_800 }), [604_800, AT]],
  [
    'a timer of the future',
    withContext({ expiration: 86_400, ephemeralSettingTimestamp: SECONDS + 9_999_999 }),
    [86_400, AT],
  ],
  [
    'a timer in milliseconds',
    withContext({ expiration: 86_400, ephemeralSettingTimestamp: AT.getTime() }),
    [86_400, AT],
  ],
  ['a negative time', withContext({ expiration: 86_400, ephemeralSettingTimestamp: -1 }), [86_400, AT]],
  [
    'no timer since a time',
    withContext({ ephemeralSettingTimestamp: SECONDS - 60 }),
    [0, new Date(AT.getTime() - 60_000)],
  ],
  ['an explicit 0', withContext({ expiration: 0 }), [0, AT]],
  ['the largest number', withContext({ expiration: 4_294_967_295 }), [2_147_483_647, AT]],
  ['a timer on a picture', { imageMessage: { contextInfo: { expiration: 86_400 } } }, [86_400, AT]],
  [
    'a change',
    notice({
      type: EPHEMERAL_SETTING,
      ephemeralExpiration: 7_776_000,
      ephemeralSettingTimestamp: SECONDS - 9_999,
    }),
    [7_776_000, AT],
  ],
  ['the end of a timer', notice({ type: EPHEMERAL_SETTING, ephemeralExpiration: 0 }), [0, AT]],
  ['the end of a timer without a number', notice({ type: EPHEMERAL_SETTING }), [0, AT]],
  [
    'a repeated setting',
    notice({
      type: EPHEMERAL_SYNC_RESPONSE,
      ephemeralExpiration: 86_400,
      ephemeralSettingTimestamp: SECONDS - 60,
    }),
    [86_400, new Date(AT.getTime() - 60_000)],
  ],
  ['a deletion', notice({ type: REVOKE }), null],
])('reads the timer of %s', (_, given, expected) => {
  // As it comes from the network.
  const message = proto.Message.decode(proto.Message.encode(given).finish());
  const timer = expected && { seconds: expected[0], set_at: expected[1].toISOString() };
  expect(readTimer({ message, at: AT, isGroup: false })).toEqual(timer);
  expect(readTimer({ message, at: AT, isGroup: true })).toBeNull();
});

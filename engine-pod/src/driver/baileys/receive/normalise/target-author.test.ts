import type { proto } from '@whiskeysockets/baileys';
import { findTargetAuthor } from './target-author.js';

const own = { jid: '5511900000001@s.whatsapp.net', lid: '1@lid' };
const [ana, group] = ['2@lid', '120363000000000001@g.us'];
const direct = (fromMe: boolean) => ({ from: fromMe ? own.jid : ana, fromMe, isGroup: false });
const inGroup = (fromMe: boolean) => ({ ...direct(fromMe), isGroup: true });
const us = { from_me: true, participant: null };
const them = { from_me: false, participant: null };
const member = (participant: string) => ({ from_me: false, participant });

test.each<[string, proto.IMessageKey, ReturnType<typeof direct>, object | undefined]>([
  ['the contact: its own message', { fromMe: true }, direct(false), them],
  ['the contact: our message', { fromMe: false }, direct(false), us],
  ['our phone: our message', { fromMe: true }, direct(true), us],
  ['our phone: the message of the contact', { fromMe: false }, direct(true), them],
  ['a member: its own message', { remoteJid: group, fromMe: true }, inGroup(false), member(ana)],
  ['a member: our message, by LID', { participant: own.lid }, inGroup(false), us],
  ['a member: our message, by phone', { participant: '5511900000001:3@s.whatsapp.net' }, inGroup(false), us],
  ['a member: that of another', { participant: '3@lid' }, inGroup(false), member('3@lid')],
  ['our phone: that of a member', { participant: '3@lid' }, inGroup(true), member('3@lid')],
  ['a key without author', { remoteJid: group }, inGroup(false), undefined],
])('%s', (_, key, envelope, author) => {
  const given = { id: 'X', ...key };
  expect(findTargetAuthor({ protocolMessage: { key: given } }, envelope, own)).toEqual(author);
  expect(findTargetAuthor({ reactionMessage: { key: given } }, envelope, own)).toEqual(author);
});

test('a message without a key', () => {
  expect(findTargetAuthor({ conversation: 'x' }, direct(false), own)).toBeUndefined();
});

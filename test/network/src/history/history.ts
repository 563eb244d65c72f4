import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { proto } from '@whiskeysockets/baileys';
import type { Account, Companion } from '../people/account.js';
import { writeToOwn } from '../people/writing.js';
import { encryptFile } from '../media/encrypted-file.js';
import type { World } from '../world.js';

/** A past message in the history of the phone. */
export interface Remembered {
  /** Phone number of the other side. */
  with: string;
  text: string;
  /** Written by the owner of the phone. */
  own?: boolean;
  at?: number;
  id?: string;
}

const { HistorySyncType } = proto.HistorySync;
const { HISTORY_SYNC_NOTIFICATION, APP_STATE_SYNC_KEY_SHARE } = proto.Message.ProtocolMessage.Type;
const KEY_ID_LENGTH = 6;

/** Initial sync from the phone to a new device: app state keys, chats, and names. */
export async function greet(world: World, companion: Companion): Promise<void> {
  if (companion.greeted) return;
  companion.greeted = true;
  const { account } = companion;
  await writeToOwn(world, companion, keyShare());
  const chats = chatsOf(world, account);
  await writeToOwn(world, companion, inline(HistorySyncType.INITIAL_BOOTSTRAP, chats));
  const pushnames = world.people
    .all()
    .filter(({ number }) => number !== account.number)
    .map((other) => ({ id: other.jid(other.shownAs('pn')), pushname: other.name }));
  await writeToOwn(world, companion, inline(HistorySyncType.PUSH_NAME, { pushnames }));
}

/**
 * Sends more history, in the message itself or as a file, as phones do for long histories. Baileys downloads such files
 * only from the hosts of the real network; whatsmeow uses the hosts that this network names.
 */
export async function sendHistory(world: World, companion: Companion, inFile = false): Promise<string> {
  const chats = chatsOf(world, companion.account);
  return writeToOwn(world, companion, inFile ? asFile(world, chats) : inline(HistorySyncType.RECENT, chats));
}

function asFile(world: World, chats: History): proto.IMessage {
  if (!world.media) throw new Error('this network has no media hosts');
  const { bytes, ...reference } = encryptFile(packed(HistorySyncType.RECENT, chats), 'history');
  const { directPath } = world.media.put(bytes, 'phone');
  const historySyncNotification = {
    ...reference,
    directPath,
    syncType: proto.Message.HistorySyncType.RECENT,
    chunkOrder: 1,
    progress: 100,
  };
  return { protocolMessage: { type: HISTORY_SYNC_NOTIFICATION, historySyncNotification } };
}

function keyShare(): proto.IMessage {
  const keyData = {
    keyData: randomBytes(32),
    fingerprint: { rawId: 1, currentIndex: 0, deviceIndexes: [0] },
    timestamp: Date.now(),
  };
  const keys = [{ keyId: { keyId: randomBytes(KEY_ID_LENGTH) }, keyData }];
  return { protocolMessage: { type: APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys } } };
}

type History = Omit<proto.IHistorySync, 'syncType'>;

function inline(type: proto.HistorySync.HistorySyncType, history: History): proto.IMessage {
  const payload = packed(type, history);
  const historySyncNotification = {
    initialHistBootstrapInlinePayload: payload,
    fileLength: payload.length,
    syncType: type as number as proto.Message.HistorySyncType,
    chunkOrder: 1,
    progress: 100,
  };
  return { protocolMessage: { type: HISTORY_SYNC_NOTIFICATION, historySyncNotification } };
}

const packed = (syncType: proto.HistorySync.HistorySyncType, history: History): Buffer =>
  deflateSync(proto.HistorySync.encode({ syncType, progress: 100, ...history }).finish());

function chatsOf(world: World, account: Account): History {
  const partners = [...new Set(account.remembers.map((one) => one.with))];
  const conversations = partners.map((number) => {
    const other = world.people.need(number);
    const messages = account.remembers
      .filter((one) => one.with === number)
      .map((one) => ({ message: webMessage(world, account, one) }));
    return {
      id: other.jid('lid'),
      pnJid: other.otherJid('lid'),
      lidJid: other.jid('lid'),
      username: other.username,
      displayName: other.name,
      messages,
    };
  });
  const phoneNumberToLidMappings = partners
    .map((number) => world.people.need(number))
    .filter(({ phoneHidden }) => !phoneHidden)
    .map((other) => ({ pnJid: other.jid('pn'), lidJid: other.jid('lid') }));
  return { conversations, phoneNumberToLidMappings };
}

function webMessage(world: World, account: Account, one: Remembered): proto.IWebMessageInfo {
  const remoteJid = world.people.need(one.with).jid('lid');
  return {
    key: { remoteJid, fromMe: one.own ?? false, id: one.id ?? world.nextId('3EB0') },
    message: { conversation: one.text },
    messageTimestamp: Math.floor((one.at ?? Date.now()) / 1000),
    pushName: one.own ? account.name : world.people.need(one.with).name,
  };
}

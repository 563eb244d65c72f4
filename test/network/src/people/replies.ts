import { createCipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { aesEncryptGCM, proto } from '@whiskeysockets/baileys';
import type { World } from '../world.js';
import { textOfMessage, unwrap } from './contents.js';
import type { Received } from './inbox.js';

const EDIT = 14;
const REVOKE = 0;
const EDIT_SEALED = 2;
const REPLY_VERSION = 3;

interface Option {
  id: string;
  label: string;
  description?: string;
}

function pick<T extends Option>(options: T[], wanted: string): T {
  const option = options.find(({ id }) => id === wanted) ?? options.find(({ label }) => label === wanted);
  if (option) return option;
  throw new Error(`the menu has no option "${wanted}", only: ${options.map(({ id }) => id).join(', ')}`);
}

/** Quotes a message: its id, its sender, and its content. */
export function quoting(world: World, entry: Received): proto.IContextInfo {
  const author = world.people.need(entry.from);
  const server = entry.addressed.endsWith('@s.whatsapp.net') ? 'pn' : 'lid';
  return {
    stanzaId: entry.id,
    participant: author.jid(server),
    ...(entry.message && { quotedMessage: entry.message }),
  };
}

/** A person taps an option of a menu. The reply depends on the type of the menu. */
export function tap(world: World, entry: Received, wanted: string): proto.IMessage {
  const menu = unwrap(entry.message) ?? {};
  const contextInfo = quoting(world, entry);
  const answer =
    nativeAnswer(menu, wanted) ??
    buttonAnswer(menu, wanted) ??
    listAnswer(menu, wanted) ??
    templateAnswer(menu, wanted);
  if (!answer) throw new Error(`message ${entry.id} is not a menu`);
  for (const content of Object.values(answer) as { contextInfo?: proto.IContextInfo }[]) {
    content.contextInfo = contextInfo;
  }
  return answer;
}

function nativeAnswer(menu: proto.IMessage, wanted: string): proto.IMessage | undefined {
  const buttons = menu.interactiveMessage?.nativeFlowMessage?.buttons;
  if (!buttons) return undefined;
  const options = buttons.flatMap(({ name, buttonParamsJson }) =>
    nativeOptions(name ?? '', buttonParamsJson ?? '{}'),
  );
  const option = pick(options, wanted);
  const { id, label: title, description } = option;
  const params = option.list ? { id, title, description: description ?? '' } : { id };
  return {
    interactiveResponseMessage: {
      body: { text: option.label, format: 0 },
      nativeFlowResponseMessage: {
        name: option.list ? 'menu_options' : 'quick_reply',
        paramsJson: JSON.stringify(params),
        version: REPLY_VERSION,
      },
    },
  };
}

interface NativeParams {
  id?: string;
  display_text?: string;
  sections?: { rows?: { id?: string; title?: string; description?: string }[] }[];
}

function nativeOptions(name: string, json: string): (Option & { list: boolean })[] {
  const params = JSON.parse(json) as NativeParams;
  if (name === 'quick_reply') {
    return [{ id: params.id ?? '', label: params.display_text ?? '', list: false }];
  }
  const rows = (params.sections ?? []).flatMap((section) => section.rows ?? []);
  return rows.map(({ id, title, description }) => ({
    id: id ?? '',
    label: title ?? '',
    list: true,
    ...(description !== undefined && { description }),
  }));
}

function buttonAnswer(menu: proto.IMessage, wanted: string): proto.IMessage | undefined {
  const buttons = menu.buttonsMessage?.buttons;
  if (!buttons) return undefined;
  const options = buttons.map(({ buttonId, buttonText }) => ({
    id: buttonId ?? '',
    label: buttonText?.displayText ?? '',
  }));
  const { id, label } = pick(options, wanted);
  return { buttonsResponseMessage: { selectedButtonId: id, selectedDisplayText: label, type: 1 } };
}

function listAnswer(menu: proto.IMessage, wanted: string): proto.IMessage | undefined {
  const sections = menu.listMessage?.sections;
  if (!sections) return undefined;
  const rows = sections.flatMap((section) => section.rows ?? []);
  const options = rows.map(({ rowId, title, description }) => ({
    id: rowId ?? '',
    label: title ?? '',
    description: description ?? '',
  }));
  const { id, label, description } = pick(options, wanted);
  return {
    listResponseMessage: { title: label, description, listType: 1, singleSelectReply: { selectedRowId: id } },
  };
}

function templateAnswer(menu: proto.IMessage, wanted: string): proto.IMessage | undefined {
  const buttons = menu.templateMessage?.hydratedTemplate?.hydratedButtons;
  if (!buttons) return undefined;
  const options = buttons.map(({ quickReplyButton, index }, position) => ({
    id: quickReplyButton?.id ?? '',
    label: quickReplyButton?.displayText ?? '',
    index: index ?? position,
  }));
  const { id, label, index } = pick(options, wanted);
  return { templateButtonReplyMessage: { selectedId: id, selectedDisplayText: label, selectedIndex: index } };
}

/** The ids by which the voter's app knows creator and voter. By default those of the chat. */
export interface VoteForms {
  creator?: 'lid' | 'pn';
  voter?: 'lid' | 'pn';
}

/** A person votes in a poll; no labels withdraw the vote. Only holders of the poll's secret can read it. */
export function vote(
  world: World,
  entry: Received,
  { labels, ...forms }: VoteForms & { labels: string[] },
): proto.IMessage {
  const secret = findPollSecret(entry, labels);
  const server = entry.addressed.endsWith('@s.whatsapp.net') ? 'pn' : 'lid';
  const creatorJid = world.people.need(entry.from).jid(forms.creator ?? server);
  const voterJid = world.people.need(entry.to).jid(forms.voter ?? server);
  const selectedOptions = labels.map((label) => createHash('sha256').update(label).digest());
  const plain = proto.Message.PollVoteMessage.encode({ selectedOptions }).finish();
  const hidden = { secret, id: entry.id, creatorJid, voterJid };
  const encIv = randomBytes(12);
  const encPayload = aesEncryptGCM(plain, voteKey(hidden), encIv, Buffer.from(`${entry.id}\0${voterJid}`));
  return {
    pollUpdateMessage: {
      pollCreationMessageKey: {
        ...{ fromMe: false, id: entry.id },
        ...(entry.group === undefined
          ? { remoteJid: creatorJid }
          : { remoteJid: entry.group, participant: creatorJid }),
      },
      vote: { encPayload, encIv },
      senderTimestampMs: Date.now(),
    },
  };
}

/** @throws Error if the message is no poll, or has no such option */
function findPollSecret({ id, message }: Received, labels: string[]): Uint8Array {
  const poll = message?.pollCreationMessageV3 ?? message?.pollCreationMessage;
  const secret = message?.messageContextInfo?.messageSecret;
  if (!poll || !secret) throw new Error(`message ${id} is not a poll`);
  const names = (poll.options ?? []).map(({ optionName }) => optionName);
  const unknown = labels.find((label) => !names.includes(label));
  if (unknown !== undefined) throw new Error(`the poll has no option "${unknown}"`);
  return secret;
}

interface Hidden {
  secret: Uint8Array;
  id: string;
  creatorJid: string;
  voterJid: string;
}

function voteKey({ secret, id, creatorJid, voterJid }: Hidden): Buffer {
  const base = createHmac('sha256', Buffer.alloc(32)).update(secret).digest();
  return createHmac('sha256', base)
    .update(Buffer.concat([Buffer.from(id + creatorJid + voterJid + 'Poll Vote'), Buffer.from([1])]))
    .digest();
}

export interface MessageKey {
  /** The chat from the writer's view. */
  chat: string;
  id: string;
  /** Whether the writer sent the message. */
  own: boolean;
  participant?: string;
}

const keyOf = ({ chat, id, own, participant }: MessageKey): proto.IMessageKey => ({
  remoteJid: chat,
  fromMe: own,
  id,
  ...(participant !== undefined && { participant }),
});

export function edit(key: MessageKey, text: string): proto.IMessage {
  return {
    protocolMessage: {
      key: keyOf(key),
      type: EDIT,
      editedMessage: { conversation: text },
      timestampMs: Date.now(),
    },
  };
}

/** An edit of a message with a secret, as apps send it: encrypted with the secret, for the ids of its author. */
export function sealedEdit(key: MessageKey, text: string, { secret, author }: Sealing): proto.IMessage {
  const plain = proto.Message.encode(edit(key, text)).finish();
  const use = Buffer.from(`${key.id}${author}${author}Message Edit`);
  const sealingKey = Buffer.from(hkdfSync('sha256', secret, '', use, 32));
  const encIv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', sealingKey, encIv);
  const encPayload = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return {
    secretEncryptedMessage: { targetMessageKey: keyOf(key), encPayload, encIv, secretEncType: EDIT_SEALED },
  };
}

export interface Sealing {
  /** Secret of the edited message. */
  secret: Uint8Array;
  author: string;
}

export const revoke = (key: MessageKey): proto.IMessage => ({
  protocolMessage: { key: keyOf(key), type: REVOKE },
});

export const react = (key: MessageKey, emoji: string): proto.IMessage => ({
  reactionMessage: { key: keyOf(key), text: emoji, senderTimestampMs: Date.now() },
});

export function reply(world: World, entry: Received, text: string): proto.IMessage {
  return { extendedTextMessage: { text, contextInfo: quoting(world, entry) } };
}

export { textOfMessage };

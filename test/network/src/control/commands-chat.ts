import type { Network } from '../network.js';
import { HOSTED_DEVICE, type Account } from '../people/account.js';
import { Handset } from '../people/handset.js';
import { sendGroupedReceipt, sendReceipt } from '../people/arriving.js';
import { messageFromJson } from '../people/contents.js';
import type { Received } from '../people/inbox.js';
import { edit, react, reply, revoke, sealedEdit, tap, vote, type VoteForms } from '../people/replies.js';
import { writeToList } from '../people/lists.js';
import { write, writeFromPhone, writeToGroup, type WriteOptions } from '../people/writing.js';
import type { Group } from '../groups/group.js';
import { parseJid } from '../wire/jids.js';
import { showState } from '../session/presence.js';
import type { World } from '../world.js';
import type { proto } from '@whiskeysockets/baileys';

export interface Writing {
  from: string;
  /** A phone number, or the JID of a group. Defaults to the only phone number with a linked device. */
  to?: string;
  options?: WriteOptions;
}

/** Finds the chat of a command. */
function chatOf(world: World, from: string, to: string | undefined): Account | Group {
  const group = to?.endsWith('@g.us') ? world.groups.get(parseJid(to)?.user ?? '') : undefined;
  if (group) return group;
  if (to !== undefined) return world.people.need(to);
  const last = world.inbox.find((entry) => entry.to === from && entry.device === 0).at(-1);
  if (last) return world.people.need(last.from);
  const linked = world.people
    .all()
    .filter(({ companions, number }) => companions.size > 0 && number !== from);
  const [only] = linked;
  if (only && linked.length === 1) return only;
  throw new Error(`name a recipient: ${linked.length} phone numbers have a linked device`);
}

/** Writes a message in the chat of a command. */
export async function sendContent(
  world: World,
  { from, to, options = {} }: Writing,
  message: proto.IMessage,
) {
  const account = world.people.need(from);
  const handset = options.hosted ? hostedDevice(account) : account.phone;
  const chat = chatOf(world, from, to);
  const content = { message, options };
  const id = await ('members' in chat
    ? writeToGroup(world, handset, chat, content)
    : write(world, handset, chat, content));
  return { id };
}

function hostedDevice(account: Account): Handset {
  const handset = account.handsets.get(HOSTED_DEVICE) ?? new Handset(account, HOSTED_DEVICE);
  account.handsets.set(HOSTED_DEVICE, handset);
  return handset;
}

function receivedBy(world: World, number: string, id: string): Received {
  const entry = world.inbox.find((one) => one.to === number && one.id === id && one.fate === 'shown').at(-1);
  if (!entry) throw new Error(`${number} has not received a message ${id}`);
  return entry;
}

const answerTo = (entry: Received): Pick<Writing, 'from' | 'to'> => ({
  from: entry.to,
  to: entry.group ?? entry.from,
});

function keyTo(world: World, from: string, { id, to }: { id: string; to?: string }) {
  const chat = chatOf(world, from, to);
  const person = world.people.need(from);
  const server = person.shownAs();
  const entry = world.inbox.find((one) => one.to === from && one.id === id).at(-1);
  const jid = 'members' in chat ? `${chat.id}@g.us` : chat.jid(chat.shownAs(server));
  const participant = entry?.group === undefined ? undefined : world.people.need(entry.from).jid('lid');
  return { chat: jid, id, own: entry === undefined, ...(participant !== undefined && { participant }) };
}

export type About = Writing & { id: string };

export interface Vote extends VoteForms {
  options: string[];
  /** Address type of the stanza instead of the account's default. */
  addressing?: 'lid' | 'pn';
}

export const chatCommands = {
  /** Writes any message, as JSON of the network's own message type. */
  write: ({ world }: Network, { message, ...writing }: Writing & { message: unknown }) =>
    sendContent(world, writing, messageFromJson(message)),

  /** The owner of a phone number writes on the phone itself. */
  writeFromPhone: async (
    { world }: Network,
    { from, to, message, options }: Writing & { to: string; message: unknown },
  ) => {
    const content = { message: messageFromJson(message), ...(options && { options }) };
    return { id: await writeFromPhone(world, world.people.need(from), chatOf(world, from, to), content) };
  },

  /** Writes to a broadcast list of these members. */
  writeToList: async (
    { world }: Network,
    {
      from,
      list,
      to,
      message,
      options,
    }: Omit<Writing, 'to'> & { list: string; to: string[]; message: unknown },
  ) => {
    const content = { message: messageFromJson(message), ...(options && { options }) };
    const members = to.map((number) => world.people.need(number));
    return { id: await writeToList(world, world.people.need(from), { jid: list, members }, content) };
  },

  tap: ({ world }: Network, { number, id, option }: { number: string; id: string; option: string }) => {
    const entry = receivedBy(world, number, id);
    return sendContent(world, answerTo(entry), tap(world, entry, option));
  },

  vote: (
    { world }: Network,
    { number, id, options, addressing, ...forms }: Vote & { number: string; id: string },
  ) => {
    const entry = receivedBy(world, number, id);
    const writing = { ...answerTo(entry), ...(addressing && { options: { addressing } }) };
    return sendContent(world, writing, vote(world, entry, { labels: options, ...forms }));
  },

  reply: ({ world }: Network, { number, id, text }: { number: string; id: string; text: string }) => {
    const entry = receivedBy(world, number, id);
    return sendContent(world, answerTo(entry), reply(world, entry, text));
  },

  edit: ({ world }: Network, { text, ...about }: About & { text: string }) =>
    sendContent(world, about, edit(keyTo(world, about.from, about), text)),

  /** Edits a message encrypted with the message's secret, which must exist. */
  sealedEdit: ({ world }: Network, { text, ...about }: About & { text: string }) => {
    const person = world.people.need(about.from);
    const secret = person.phone.kept(about.id)?.message.messageContextInfo?.messageSecret;
    if (!secret) throw new Error(`message ${about.id} has no secret`);
    const author = person.jid(person.shownAs(about.options?.addressing));
    const key = keyTo(world, about.from, about);
    return sendContent(world, about, sealedEdit(key, text, { secret, author }));
  },

  revoke: ({ world }: Network, about: About) =>
    sendContent(world, about, revoke(keyTo(world, about.from, about))),

  react: ({ world }: Network, { emoji, ...about }: About & { emoji: string }) =>
    sendContent(world, about, react(keyTo(world, about.from, about), emoji)),

  /** Opens or plays a message, and others at once. The account's settings decide about the receipt. */
  read: (
    { world }: Network,
    { number, id, played, others }: { number: string; id: string; played?: boolean; others?: string[] },
  ) => {
    sendReceipt(world, receivedBy(world, number, id), played ? 'played' : 'read', others);
    return {};
  },

  /** Confirms a message to a group for several members in one receipt. */
  confirmTogether: (
    { world }: Network,
    { numbers, id, read }: { numbers: string[]; id: string; read?: boolean },
  ) => {
    const entries = numbers.map((number) => receivedBy(world, number, id));
    sendGroupedReceipt(world, entries, read ? 'read' : undefined);
    return {};
  },

  /** Confirms a delivery that the account's settings held back. */
  confirm: ({ world }: Network, { number, id }: { number: string; id: string }) => {
    sendReceipt(world, receivedBy(world, number, id));
    return {};
  },

  state: (
    { world }: Network,
    { from, to, state }: { from: string; to: string; state: 'composing' | 'recording' | 'paused' },
  ) => {
    showState(world.people.need(from), world.people.need(to), state);
    return {};
  },
};

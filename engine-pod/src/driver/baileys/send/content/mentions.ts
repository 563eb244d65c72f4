import { jidDecode, jidNormalizedUser, type GroupMetadata } from '@whiskeysockets/baileys';
import { EVERYBODY, phoneForms } from '@gwk/core/ids/recipients';
import type { OutboundContent } from '@gwk/core/resources/message';
import { SendFailure } from '../../../driver.js';

export interface Mentions {
  /** Addresses of the mentioned, each once. */
  jids: string[];
  /** Replaces mentioned numbers after `@`, as apps show the name of a mentioned person only in place of their address. */
  rewrite: (text: string) => string;
}

/** Finds the LIDs of phone numbers that the network knows. */
type FindLids = (phones: readonly string[]) => Promise<ReadonlyMap<string, string>>;

export interface MemberSearch {
  findLids: FindLids;
  isOwn: (jid: string) => boolean;
  /** For an edit: somebody may have left the group since. */
  skipStrangers?: boolean;
}

const toJid = (name: string): string =>
  name.includes('@') || name === EVERYBODY ? name : `${name.replace(/^\+/, '')}@s.whatsapp.net`;

export type Members = Pick<GroupMetadata, 'participants'>;

/**
 * Finds the addresses under which the members of a group are mentioned. A phone only notifies its owner of the address that
 * the group uses.
 * @param members null outside groups, where mentions stay as they are
 * @throws SendFailure for somebody who is not a member
 */
export async function resolveMentions(
  mentions: readonly string[],
  members: Members | null,
  { findLids, isOwn, skipStrangers = false }: MemberSearch,
): Promise<Mentions> {
  if (members === null) return { jids: mentions.map(toJid), rewrite: (text) => text };
  const addresses = listAddresses(members);
  const names = mentions.map(toJid);
  const lids = await findHidden(names, addresses, findLids);
  const found = new Map<string, string>();
  const jids = new Set<string>();
  for (const [index, mention] of names.entries()) {
    if (mention === EVERYBODY) {
      members.participants.filter(({ id }) => !isOwn(id)).forEach(({ id }) => jids.add(id));
      continue;
    }
    const jid = findListed(mention, addresses) ?? addresses.get(lids.get(readPhone(mention) ?? '') ?? '');
    if (!jid && skipStrangers) continue;
    if (!jid) throw SendFailure.refused('wa_error', `mentions.${index} is not a member of the group`);
    jids.add(jid);
    for (const digits of listForms(mention)) found.set(digits, jidDecode(jid)!.user);
  }
  return { jids: [...jids], rewrite: (text) => rewriteNumbers(text, found) };
}

/** The LIDs of mentioned phone numbers that are not listed, because the network may list members without them. */
async function findHidden(
  names: readonly string[],
  addresses: ReadonlyMap<string, string>,
  findLids: FindLids,
): Promise<ReadonlyMap<string, string>> {
  const hidden = names
    .filter((name) => !findListed(name, addresses))
    .flatMap((name) => readPhone(name) ?? []);
  return hidden.length > 0 ? findLids([...new Set(hidden)]) : new Map<string, string>();
}

/** The address of each member by all ids that are known. */
function listAddresses({ participants }: Members): Map<string, string> {
  return new Map(
    participants.flatMap(({ id, lid, phoneNumber }) =>
      [id, lid, phoneNumber].flatMap((name) => (name ? [[jidNormalizedUser(name), id] as const] : [])),
    ),
  );
}

function readPhone(mention: string): string | null {
  const { user, server } = jidDecode(mention) ?? {};
  return user && server === 's.whatsapp.net' ? user : null;
}

function findListed(mention: string, addresses: ReadonlyMap<string, string>): string | undefined {
  const phone = readPhone(mention);
  if (phone === null) return addresses.get(mention);
  return phoneForms(phone)
    .map((form) => addresses.get(`${form}@s.whatsapp.net`))
    .find((jid) => jid !== undefined);
}

/** The digits by which a text may name somebody. */
function listForms(mention: string): string[] {
  const { user = '', server } = jidDecode(mention) ?? {};
  return server === 's.whatsapp.net' ? phoneForms(user) : [user];
}

/** A number after `@`, with the separators that people write. */
const NUMBER = /@\+?\(?\d(?:[ \u00a0().-]{0,2}\d){4,19}/g;
const isDigit = (char: string | undefined): boolean => char !== undefined && char >= '0' && char <= '9';

/** Takes the longest mentioned number, because another number may follow it. */
function rewriteNumbers(text: string, found: ReadonlyMap<string, string>): string {
  return text.replace(NUMBER, (match: string, offset: number) => {
    for (let end = match.length; end > 1; end--) {
      if (!isDigit(match[end - 1]) || isDigit(text[offset + end])) continue;
      const user = found.get(match.slice(0, end).replace(/\D/g, ''));
      if (user !== undefined) return `@${user}${match.slice(end)}`;
    }
    return match;
  });
}

/** Applies a change to the text of a message, the part that may mention people. */
export function rewriteContent(content: OutboundContent, rewrite: Mentions['rewrite']): OutboundContent {
  const { text, image, video, document, poll, interactive } = content;
  const captioned = <T extends { caption?: string | null }>(field: T): T =>
    field.caption ? { ...field, caption: rewrite(field.caption) } : field;
  return {
    ...content,
    ...(text && { text: { ...text, body: rewrite(text.body) } }),
    ...(image && { image: captioned(image) }),
    ...(video && { video: captioned(video) }),
    ...(document && { document: captioned(document) }),
    ...(poll && { poll: { ...poll, name: rewrite(poll.name) } }),
    ...(interactive && { interactive: { ...interactive, body: rewrite(interactive.body) } }),
  };
}

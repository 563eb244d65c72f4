/** Mentions all members of a group. */
export const EVERYBODY = 'all';

/**
 * Parses `to` of a message into a recipient with a canonical name. Equal forms have the same name, and so share one
 * contact and one conversation.
 */
export type Recipient =
  { kind: 'contact'; name: string; phone: string | null } | { kind: 'group'; name: string; phone: null };

/** All forms are short, because caches keep the whole text of a recipient. */
const PHONE = /^[0-9]{8,15}$/;
const USER = /^([0-9]{8,15})(?::[0-9]{1,5})?@s\.whatsapp\.net$/;
const LID = /^([0-9]{5,20})(?::[0-9]{1,5})?@lid$/;
const GROUP = /^[0-9-]{5,40}@g\.us$/;
/** Broadcast lists and unknown places are stored like groups, and are none. */
export const isGroupId = (id: string): boolean => GROUP.test(id);
/** A network id of a person: a LID, or a phone number with its server. */
export const PERSON_ID = /^(?:[0-9]{5,20}(?::[0-9]{1,5})?@lid|[0-9]{8,15}(?::[0-9]{1,5})?@s\.whatsapp\.net)$/;

/** @returns null when `to` has no accepted form (`invalid-phone`) */
export function parseRecipient(to: string): Recipient | null {
  if (PHONE.test(to)) return phoneContact(to);
  const user = USER.exec(to);
  if (user) return phoneContact(user[1]!);
  const lid = LID.exec(to);
  if (lid) return { kind: 'contact', name: `${lid[1]!}@lid`, phone: null };
  return GROUP.test(to) ? { kind: 'group', name: to, phone: null } : null;
}

/** The characters that the network allows. A username is shown, and never identifies anybody: another person may take it later. */
export const USERNAME = /^[A-Za-z0-9._]{3,35}$/;

/** @returns null for a text that is no username, for example of a hostile client */
export function parseUsername(text: unknown): string | null {
  const username = typeof text === 'string' ? text.replace(/^@/, '') : '';
  return USERNAME.test(username) ? username : null;
}

/** A LID and the phone number (digits) of the same contact. */
export interface LinkedNames {
  lid: string;
  phone: string;
}

/** @returns the link of two network ids; null unless one is a LID and the other a phone number */
export function pairNames(one: string, other: string): LinkedNames | null {
  const [a, b] = [parseRecipient(one), parseRecipient(other)];
  if (a?.kind !== 'contact' || b?.kind !== 'contact') return null;
  if (a.phone === null && b.phone !== null) return { lid: a.name, phone: b.phone };
  return a.phone !== null && b.phone === null ? { lid: b.name, phone: a.phone } : null;
}

/** The network ids of an account: of its phone number, and its LID if it is known. */
export interface AccountIds {
  jid: string;
  lid: string | null;
}

/**
 * Whether both are of one account. An account keeps its LID when its phone number changes, and its phone number when it gets
 * another LID. The network states the LID at each login, and a changed phone number only with the next pairing.
 */
export function isSameAccount(one: AccountIds, other: AccountIds): boolean {
  const name = (id: string): string => parseRecipient(id)?.name ?? id;
  if (name(one.jid) === name(other.jid)) return true;
  return one.lid !== null && other.lid !== null && name(one.lid) === name(other.lid);
}

/** @returns the digits as written, where they differ from the canonical name; null otherwise */
export function exactDigits({ name, phone }: Recipient): string | null {
  return phone === name ? null : phone;
}

/** @returns the network id (JID) of a recipient exactly as written, without its device */
export function toAddress({ name, phone }: Recipient): string {
  return toNetworkId(phone ?? name);
}

/** @returns the network id (JID) for a canonical name */
export function toNetworkId(name: string): string {
  return name.includes('@') ? name : `${name}@s.whatsapp.net`;
}

function phoneContact(digits: string): Recipient {
  return { kind: 'contact', name: canonicalPhone(digits), phone: digits };
}

/** Forms of a phone number that mostly belong to one person; the first one is canonical. */
const FORMS: readonly [RegExp, (digits: RegExpExecArray) => [string, string]][] = [
  // Brazil: with and without the ninth digit.
  [/^55([1-9][0-9])9?([6-9][0-9]{7})$/, ([, area, rest]) => [`55${area}9${rest}`, `55${area}${rest}`]],
  // Mexico: without and with 1.
  [/^521?([0-9]{10})$/, ([, rest]) => [`52${rest}`, `521${rest}`]],
  // Argentina: without and with 9.
  [/^549?([0-9]{10})$/, ([, rest]) => [`54${rest}`, `549${rest}`]],
];

function findForms(digits: string): string[] {
  for (const [pattern, forms] of FORMS) {
    const found = pattern.exec(digits);
    if (found) return forms(found);
  }
  return [digits];
}

/** A key under which the forms of a phone number meet. Never an address: two people may differ by the digit. */
export function canonicalPhone(digits: string): string {
  return findForms(digits)[0]!;
}

/** The forms under which the network may know a phone number: as written, then the other one. */
export function phoneForms(digits: string): string[] {
  return [digits, ...findForms(digits).filter((form) => form !== digits)];
}

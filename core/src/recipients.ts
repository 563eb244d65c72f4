/**
 * Parses `to` of a message into a recipient with a canonical name. Equal forms have the same name, and so share one
 * contact and one conversation.
 */
export type Recipient =
  { kind: 'contact'; name: string; phone: string | null } | { kind: 'group'; name: string; phone: null };

/** All forms are short, because caches keep the whole text of a recipient. */
const PHONE = /^[0-9]{8,15}$/;
const USER = /^([0-9]{5,20})(?::[0-9]{1,5})?@s\.whatsapp\.net$/;
const LID = /^([0-9]{5,20})(?::[0-9]{1,5})?@lid$/;
const GROUP = /^[0-9-]{5,40}@g\.us$/;

/** @returns null when `to` has no accepted form (`invalid-phone`) */
export function parseRecipient(to: string): Recipient | null {
  if (PHONE.test(to)) return phoneContact(to);
  const user = USER.exec(to);
  if (user) return PHONE.test(user[1]!) ? phoneContact(user[1]!) : null;
  const lid = LID.exec(to);
  if (lid) return { kind: 'contact', name: `${lid[1]!}@lid`, phone: null };
  return GROUP.test(to) ? { kind: 'group', name: to, phone: null } : null;
}

/** @returns the network id (JID) for a canonical name */
export function toNetworkId(name: string): string {
  return name.includes('@') ? name : `${name}@s.whatsapp.net`;
}

function phoneContact(digits: string): Recipient {
  return { kind: 'contact', name: canonicalPhone(digits), phone: digits };
}

/**
 * Maps phone numbers that the network treats as equal to one form: Brazilian mobile numbers with and without the ninth
 * digit, Mexican numbers with 521 and 52, Argentine numbers with 549 and 54.
 */
export function canonicalPhone(digits: string): string {
  const brazil = /^55([1-9][0-9])9?([6-9][0-9]{7})$/.exec(digits);
  if (brazil) return `55${brazil[1]!}9${brazil[2]!}`;
  const mexico = /^521?([0-9]{10})$/.exec(digits);
  if (mexico) return `52${mexico[1]!}`;
  const argentina = /^549?([0-9]{10})$/.exec(digits);
  if (argentina) return `54${argentina[1]!}`;
  return digits;
}

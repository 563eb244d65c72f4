/**
 * Who a message goes to: the forms of `to` (spec: SendMessageRequest) and the one name by which each is known
 * here, so that forms known to be equal meet in one contact and one conversation.
 */
export type Recipient =
  { kind: 'contact'; name: string; phone: string | null } | { kind: 'group'; name: string; phone: null };

/** No form is long: what is remembered of a recipient holds all of the text that it was written in. */
const PHONE = /^[0-9]{8,15}$/;
const USER = /^([0-9]{5,20})(?::[0-9]{1,5})?@s\.whatsapp\.net$/;
const LID = /^([0-9]{5,20})(?::[0-9]{1,5})?@lid$/;
const GROUP = /^[0-9-]{5,40}@g\.us$/;

/** Null when `to` has none of the accepted forms (`invalid-phone`). */
export function parseRecipient(to: string): Recipient | null {
  if (PHONE.test(to)) return phoneContact(to);
  const user = USER.exec(to);
  if (user) return PHONE.test(user[1]!) ? phoneContact(user[1]!) : null;
  const lid = LID.exec(to);
  if (lid) return { kind: 'contact', name: `${lid[1]!}@lid`, phone: null };
  return GROUP.test(to) ? { kind: 'group', name: to, phone: null } : null;
}

/** The network id that a canonical name is addressed by. */
export function toNetworkId(name: string): string {
  return name.includes('@') ? name : `${name}@s.whatsapp.net`;
}

function phoneContact(digits: string): Recipient {
  return { kind: 'contact', name: canonicalPhone(digits), phone: digits };
}

/**
 * One form for phones that the network treats as one (design: a contact is one row with all its names):
 * Brazilian mobiles with and without the ninth digit, Mexico 521/52, Argentina 549/54.
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

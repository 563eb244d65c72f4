import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** Somebody by an id or a phone number, with what is known of the person. */
export interface Person {
  id: string;
  phone?: string | null;
  username?: string | null;
  name?: string | null;
}

/** The text that stands for a person: the name, else the username, the phone number or the id. */
export function showPerson({ id, phone, username, name }: Person): string {
  if (name?.trim()) return name;
  if (username) return `@${username}`;
  const digits = phone ?? /^(\d+)(?:@s\.whatsapp\.net)?$/.exec(id)?.[1];
  return digits === undefined ? id : formatPhone(digits);
}

/** Text that distinguishes people of the same name. Null if the shown text is unique already. */
export function describePerson(person: Person): string | null {
  const shown = showPerson(person);
  const next = showPerson({ ...person, name: null });
  if (next !== shown) return next;
  return person.username ? showPerson({ ...person, name: null, username: null }) : null;
}

/** A phone number in its international format. */
export const formatPhone = (digits: string): string =>
  parsePhoneNumberFromString(`+${digits}`)?.formatInternational() ?? `+${digits}`;

/** A phone number or an id as the API takes it. An id of a group may have a hyphen. */
export const toRecipient = (typed: string): string =>
  typed.includes('@') ? typed.trim() : typed.replaceAll(/[\s().+-]/g, '');

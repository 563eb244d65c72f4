/**
 * The address of a message decides what gwk does with it. docs/receiving.md shows this table.
 * - `conversation`: it belongs to a conversation with a person, a group or a list.
 * - `unknown`: gwk knows nothing of the place, and reports the message with the kind `unknown`.
 * - `ignored`: it is no message to the instance.
 */
export type PlaceDecision = 'conversation' | 'unknown' | 'ignored';

interface AddressForm {
  pattern: RegExp;
  example: string;
  place: string;
  decision: PlaceDecision;
}

/** The forms that Baileys and whatsmeow decode. The first that fits counts; other forms are `unknown`. */
export const ADDRESS_FORMS: readonly AddressForm[] = [
  { pattern: /@(?:s\.whatsapp\.net|c\.us)$/, example: '5511987654321@s.whatsapp.net', place: 'a person, by phone number', decision: 'conversation' }, // prettier-ignore
  { pattern: /@lid$/, example: '101234567890123@lid', place: 'a person, by LID', decision: 'conversation' },
  { pattern: /@hosted$/, example: '5511987654321:99@hosted', place: 'the Cloud API of a business, by phone number', decision: 'conversation' }, // prettier-ignore
  { pattern: /@hosted\.lid$/, example: '101234567890123:99@hosted.lid', place: 'the Cloud API of a business, by LID', decision: 'conversation' }, // prettier-ignore
  { pattern: /@g\.us$/, example: '120363000000000001@g.us', place: 'a group', decision: 'conversation' },
  { pattern: /^[0-9]{1,30}@broadcast$/, example: '1700000000@broadcast', place: 'a broadcast list', decision: 'conversation' }, // prettier-ignore
  { pattern: /^status@broadcast$/, example: 'status@broadcast', place: 'a status post', decision: 'ignored' },
  { pattern: /@newsletter$/, example: '120363000000000002@newsletter', place: 'a channel', decision: 'ignored' }, // prettier-ignore
  { pattern: /@bot$/, example: '867051314767696@bot', place: 'an assistant of Meta', decision: 'unknown' },
  { pattern: /@interop$/, example: '1-2001@interop', place: 'a person of another network', decision: 'unknown' }, // prettier-ignore
  { pattern: /@msgr$/, example: '100012345678901@msgr', place: 'a person of Messenger', decision: 'unknown' },
  { pattern: /@call$/, example: 'A1B2C3@call', place: 'a call', decision: 'unknown' },
];

export const decidePlace = (address: string): PlaceDecision =>
  ADDRESS_FORMS.find(({ pattern }) => pattern.test(address))?.decision ?? 'unknown';

import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { MAX_DETAILS_ITEMS } from '@gwk/core/resources/details-values';

type Contact = NonNullable<InboundMessage['contacts']>[number];

/** A card with the facts beside its name and its phone numbers. */
export interface ParsedCard extends Contact {
  facts: Record<string, unknown>;
}

interface Property {
  /** Joins a property with its label (X-ABLABEL). Empty: none. */
  group: string;
  name: string;
  params: string;
  value: string;
}

export const MAX_CONTACTS = 300;
/** Far more than an app writes. */
const MAX_CARDS = 300;
const MAX_LINES = 2_000;
/** Names and numbers are far shorter; pictures are not read. */
const MAX_LINE = 10_000;
/** The time to normalise a text grows with the square of its length. */
const MAX_NUMBER = 200;

/** Parses all cards of a text, of the versions 2.1, 3.0 and 4.0, written by phones and other programs. */
export function parseVcards(text: string): ParsedCard[] {
  const [head = '', ...cards] = text.split(/^BEGIN:VCARD[ \t\r]*$/im);
  return (cards.length > 0 ? cards : [head]).slice(0, MAX_CARDS).map((card) => {
    const properties = readLines(card).flatMap((line) => parseProperty(line) ?? []);
    const phones = properties.filter(({ name }) => name === 'TEL').map(parsePhone);
    return {
      name: findName(properties),
      phones: [...new Set(phones)].filter((phone) => phone !== ''),
      facts: readFacts(properties),
    };
  });
}

/** A card may contain several contacts, or none that can be read. Returns one more than a message may have. */
export function readCards(cards: readonly proto.Message.IContactMessage[]): ParsedCard[] {
  return cards.slice(0, MAX_CONTACTS + 1).flatMap(({ displayName, vcard }): ParsedCard[] => {
    const [first, ...more] = parseVcards(vcard ?? '');
    return [{ phones: [], facts: {}, ...first, name: displayName || (first?.name ?? null) }, ...more];
  });
}

/** One more than a card shows, so that its reader sees that there are more. */
const MAX_FACTS = MAX_DETAILS_ITEMS + 1;

function readFacts(properties: readonly Property[]): Record<string, unknown> {
  const listed = (wanted: string) => properties.filter(({ name }) => name === wanted).slice(0, MAX_FACTS);
  const valuesOf = (wanted: string) => listed(wanted).map((one) => unescapeValue(readValue(one)));
  const labels = new Map(listed('X-ABLABEL').map((one) => [one.group, readValue(one)]));
  const [organization] = valuesOf('ORG');
  return {
    organization: organization && joinParts(organization),
    emails: valuesOf('EMAIL'),
    addresses: valuesOf('ADR').map(joinParts),
    numbers: listed('TEL').map((number) => ({
      number: readValue(number).trim().replace(/^tel:/i, ''),
      // The label that a person gave, else the first type, such as `cell`.
      label: labels.get(number.group || '-')?.replaceAll(/^_\$!<|>!\$_$/g, '') ?? findType(number),
      id: readId(number),
    })),
  };
}

const joinParts = (value: string): string =>
  value
    .split(';')
    .map((part) => part.trim())
    .filter(Boolean)
    .join(', ');

const TYPES = /;(?:TYPE=)?"?([a-z,;]+)"?/gi;
const NO_LABELS: ReadonlySet<string> = new Set(['type', 'pref', 'voice', 'internet', 'waid', 'value', 'uri']);

function findType({ params }: Property): string | undefined {
  const types = [...params.matchAll(TYPES)].flatMap(([, names]) => names!.toLowerCase().split(/[,;]/));
  return types.find((type) => type !== '' && !NO_LABELS.has(type));
}

const QUOTED_PRINTABLE = /^[^:]*;(ENCODING=)?QUOTED-PRINTABLE[;:]/i;

/**
 * A long line continues on the next one after white space, or after `=` if it is quoted-printable. Pieces are joined
 * once, because their number is the sender's choice.
 */
function readLines(card: string): string[] {
  const lines: string[][] = [];
  let isQuoted = false;
  let continues = false;
  for (const line of card.split(/\r?\n/, MAX_LINES)) {
    const pieces = lines.at(-1);
    if (pieces && continues) pieces.push(line);
    else if (pieces && /^[ \t]/.test(line)) pieces.push(line.slice(1));
    else {
      lines.push([line]);
      isQuoted = QUOTED_PRINTABLE.test(line);
    }
    continues = isQuoted && line.endsWith('=');
    if (continues) lines.at(-1)!.push(lines.at(-1)!.pop()!.slice(0, -1));
  }
  return lines.map((pieces) => pieces.join('').slice(0, MAX_LINE));
}

/** The parameters may quote a colon. */
function parseProperty(line: string): Property | null {
  const match = /^(?:([\w-]+)\.)?([\w-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)$/.exec(line);
  if (!match) return null;
  const [, group = '', name, params, value] = match as unknown as [string, string?, ...string[]];
  return { group, name: name!.toUpperCase(), params: params!, value: value! };
}

function readValue({ params, value }: Property): string {
  if (!/;(ENCODING=)?QUOTED-PRINTABLE(;|$)/i.test(params)) return value;
  const bytes = Buffer.from(value).toString('latin1');
  const decoded = bytes.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  const charset = /;CHARSET=(?!UTF-?8)/i.test(params) ? 'latin1' : 'utf8';
  return Buffer.from(decoded, 'latin1').toString(charset);
}

const readId = ({ params }: Property): string | undefined => /;waid="?([0-9]{5,20})/i.exec(params)?.[1];

/** Digits of a phone number: the network's id from the card if it has one, else the number without its extension. */
function parsePhone(property: Property): string {
  const waid = readId(property);
  if (waid !== undefined) return waid;
  const number = readValue(property).slice(0, MAX_NUMBER).normalize('NFKC').trim().replace(/^tel:/i, '');
  const [main] = /^[+0-9().\-/\s\u2010-\u2015]*/.exec(number)!;
  // +44 (0)20: the zero is dialled inside the country only.
  const international = main.startsWith('+') ? main.replace('(0)', '') : main;
  return international.replaceAll(/[^0-9]/g, '').slice(0, 100);
}

function findName(properties: readonly Property[]): string | null {
  for (const wanted of ['FN', 'N', 'ORG']) {
    const property = properties.find(({ name }) => name === wanted);
    const name = property && formatName(wanted, readValue(property));
    if (name) return name;
  }
  return null;
}

/** N has the family name first. */
function formatName(property: string, value: string): string {
  const parts = property === 'FN' ? [value] : value.split(/(?<!\\);/);
  const ordered = property === 'N' ? [parts[3], parts[1], parts[2], parts[0], parts[4]] : parts;
  const words = ordered.map((part) => part?.trim()).filter(Boolean);
  return unescapeValue(words.join(' '));
}

const unescapeValue = (value: string): string =>
  value.replaceAll(/\\n/gi, ' ').replaceAll(/\\(.)/g, '$1').trim();

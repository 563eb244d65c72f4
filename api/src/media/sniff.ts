import { isUtf8 } from 'node:buffer';
import { extensionOf } from '@gwk/core/text/filenames';
import { fileTypeFromBuffer, supportedMimeTypes } from 'file-type';
import { lookUpType } from './filename-type.js';

/** Bytes from the start of a file that sniffing reads. An archive of tiny entries takes 14 ms; 64 kB of them took 54 ms. */
export const HEAD_BYTES = 16_384;
const UNKNOWN_TYPE = 'application/octet-stream';

export interface TypeHints {
  filename: string | null;
  /** Media type from the client or the server. */
  declared: string | null;
}

/** Common names for types that the sniffer names otherwise. */
const COMMON_NAMES: Readonly<Record<string, string>> = {
  'audio/x-m4a': 'audio/mp4',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/x-flac': 'audio/flac',
  'video/x-m4v': 'video/mp4',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'audio/opus': 'audio/ogg',
  'video/matroska': 'video/x-matroska',
  'video/vnd.avi': 'video/x-msvideo',
  'video/MP1S': 'video/mpeg',
  'video/MP2P': 'video/mpeg',
  'application/vnd.ms-asf': 'video/x-ms-asf',
  'application/x-cfb': 'application/x-ole-storage',
};

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const IN_ZIP: Readonly<Record<string, string>> = {
  docx: `${OFFICE}.wordprocessingml.document`,
  xlsx: `${OFFICE}.spreadsheetml.sheet`,
  pptx: `${OFFICE}.presentationml.presentation`,
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odp: 'application/vnd.oasis.opendocument.presentation',
  epub: 'application/epub+zip',
};
const IN_OLE: Readonly<Record<string, string>> = {
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
};
const TEXTS: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ics: 'text/calendar',
  vcf: 'text/vcard',
  md: 'text/markdown',
  html: 'text/html',
  htm: 'text/html',
  xml: 'application/xml',
  svg: 'image/svg+xml',
};
const TEXT_TYPES = new Set(Object.values(TEXTS));

/** Formats of archives. Content shows them only if their first entries are in the sample. */
const ARCHIVES =
  /openxmlformats|opendocument|epub|android\.package|java-archive|xpinstall|google-earth|\bkmz\b|\+zip$/;
/** Types that clients and servers name if they do not know a type. */
const GENERIC_TYPES: ReadonlySet<string> = new Set([
  UNKNOWN_TYPE,
  'text/plain',
  'application/zip',
  'binary/octet-stream',
  'application/binary',
  'application/download',
  'application/force-download',
  'application/x-download',
  'application/x-zip-compressed',
]);

/**
 * Detects the media type from the content. Filename and declared type decide only between types with the same content:
 * documents in a ZIP or an OLE file, kinds of text, and formats without a signature.
 */
export async function sniff(head: Buffer, hints: TypeHints): Promise<string> {
  // A truncated sample may make a parser throw; the type is then unknown.
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  const type = found?.mime;
  if (type === undefined || type === 'application/xml') {
    if (isText(head)) return detectTextType(head.toString('utf8'), hints);
    // A page in another encoding than UTF-8.
    return detectPage(decodeOther(head)) ?? claimType(hints, isUnsigned) ?? UNKNOWN_TYPE;
  }
  const name = COMMON_NAMES[type] ?? type;
  return detectInContainer(name, hints) ?? name;
}

/** The type of a sniffed file by the name that the caller gives it, if the content leaves it open. */
export function refineType(type: string, filename: string | null): string {
  const hints = { filename, declared: null };
  const byName = TEXTS[extensionOf(filename)];
  if (type === 'text/plain') return byName ?? claimType(hints, isUnsigned) ?? type;
  if (type === 'application/xml') return byName ?? claimType(hints, (claim) => /\+xml$/.test(claim)) ?? type;
  if (type === UNKNOWN_TYPE) return claimType(hints, isUnsigned) ?? type;
  return detectInContainer(type, hints) ?? type;
}

/** Null: the type has no other types inside, or none is claimed. */
function detectInContainer(name: string, hints: TypeHints): string | null {
  const extension = extensionOf(hints.filename);
  if (name === 'application/zip') {
    const claimed = claimType(hints, (claim) => ARCHIVES.test(claim) || isUnsigned(claim));
    return claimed ?? IN_ZIP[extension] ?? null;
  }
  if (name !== 'application/x-ole-storage') return null;
  return IN_OLE[extension] ?? claimType(hints, isUnsigned);
}

/** A type that has no signature, so its absence is no contradiction. Texts, pictures, audio and video show what they are. */
const isUnsigned = (type: string): boolean =>
  !supportedMimeTypes.has(type) && !/^(text|image|audio|video)\//.test(type);

/** The declared type, else that of the filename, if the content may have it. */
function claimType({ filename, declared }: TypeHints, isPossible: (type: string) => boolean): string | null {
  const claims = [bareType(declared), lookUpType(filename)];
  return claims.find((claim) => claim !== null && !GENERIC_TYPES.has(claim) && isPossible(claim)) ?? null;
}

/** A page in place of another file is a page. Else the filename decides about the kind of text, then the declared type. */
function detectTextType(text: string, hints: TypeHints): string {
  const byName = TEXTS[extensionOf(hints.filename)];
  const bare = bareType(hints.declared);
  const declared = bare !== null && TEXT_TYPES.has(bare) ? bare : undefined;
  const claimed = byName ?? declared ?? claimType(hints, isUnsigned) ?? 'text/plain';
  const page = detectPage(text);
  if (page === null) return claimed;
  return findPageOfType(page)!.files.test(claimed) && claimed !== 'text/plain' ? claimed : page;
}

interface Page {
  /** In words to the sender of a message. */
  name: string;
  types: RegExp;
  /** Types of files that may be such a page, or its source. */
  files: RegExp;
}
/** Texts that a host may send in place of a file: a login, an error, an expired link. */
const PAGES: readonly Page[] = [
  {
    name: 'a web page (HTML)',
    types: /^text\/html$|\/xhtml\+xml$/,
    files: /html|[/+]xml$|markdown|rfc822|^text\/plain$/,
  },
  {
    name: 'a text of data (JSON)',
    types: /[/+]json$/,
    files: /json|javascript|markdown|yaml|^text\/plain$/,
  },
  {
    name: 'a text of data (XML)',
    types: /^(?:text|application)\/(?:[\w.-]+\+)?xml$/,
    files: /html|[/+]xml$|ms-?excel|msword|markdown|rfc822|^text\/plain$/,
  },
];

/** Undefined for the type of other files. */
export const findPageOfType = (type: string): Page | undefined => PAGES.find(({ types }) => types.test(type));
const HTML =
  /^\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--[^]{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body|title|script|meta)\b/i;

function detectPage(given: string): 'text/html' | 'application/json' | null {
  const text = given.replace(/^\ufeff/, '');
  if (HTML.test(text.slice(0, 4_096))) return 'text/html';
  return /^\s*[[{]/.test(text) && isJson(text) ? 'application/json' : null;
}

/** The head of a longer file is not whole. Its begin then shows a key. */
function isJson(text: string): boolean {
  if (Buffer.byteLength(text) >= HEAD_BYTES)
    return /^(?:\[\s*)?\{\s*"(?:[^"\\]|\\.){0,200}"\s*:/.test(text.trimStart());
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

/** UTF-16 with a byte order mark, else an encoding in which the words of HTML and the quotes of JSON are those of Latin-1. */
function decodeOther(head: Buffer): string {
  const mark = head.toString('hex', 0, 2);
  const label = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'latin1';
  return new TextDecoder(label).decode(head);
}

const NUL = 0;
/** A sample may end inside a UTF-8 character, which has at most 4 bytes. */
const MAX_CUT_BYTES = 3;

function isText(head: Buffer): boolean {
  if (head.includes(NUL)) return false;
  for (let cut = 0; cut <= Math.min(MAX_CUT_BYTES, head.length); cut++) {
    if (isUtf8(head.subarray(0, head.length - cut))) return true;
  }
  return false;
}

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** Example: `text/csv` for `Text/CSV; charset=utf-8`. Null: not a media type. */
export function bareType(type: string | null | undefined): string | null {
  const bare = (type ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return TYPE.test(bare) ? bare : null;
}

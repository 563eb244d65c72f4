import { isUtf8 } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';

/** Bytes from the start of a file that sniffing needs. */
export const HEAD_BYTES = 65_536;
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

/**
 * Detects the media type from the content. Filename and declared type decide only between types with the same content:
 * office documents in a ZIP, and kinds of text.
 */
export async function sniff(head: Buffer, hints: TypeHints): Promise<string> {
  // A truncated sample may make a parser throw; the type is then unknown.
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  const type = found?.mime;
  if (type === undefined || type === 'application/xml') return detectTextType(head, hints);
  const name = COMMON_NAMES[type] ?? type;
  if (name === 'application/zip') return IN_ZIP[extensionOf(hints.filename)] ?? name;
  if (name === 'application/x-ole-storage') return IN_OLE[extensionOf(hints.filename)] ?? name;
  return name;
}

/** Content does not show the kind of text: the filename decides, then the declared type. */
function detectTextType(head: Buffer, { filename, declared }: TypeHints): string {
  if (!isText(head)) return UNKNOWN_TYPE;
  const byName = TEXTS[extensionOf(filename)];
  if (byName !== undefined) return byName;
  const bare = bareType(declared);
  return bare !== null && TEXT_TYPES.has(bare) ? bare : 'text/plain';
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

function extensionOf(filename: string | null): string {
  return /\.([a-z0-9]{1,8})$/i.exec(filename ?? '')?.[1]?.toLowerCase() ?? '';
}

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** Example: `text/csv` for `Text/CSV; charset=utf-8`. Null: not a media type. */
export function bareType(type: string | null | undefined): string | null {
  const bare = (type ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return TYPE.test(bare) ? bare : null;
}

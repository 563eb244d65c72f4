import { isUtf8 } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';

/**
 * What a file is, by its content (spec: Media; `mimetype` of what was uploaded). Names and headers are believed only
 * where they tell apart what content alone does not: office documents inside a ZIP, kinds of text.
 */
export const HEAD_BYTES = 65_536;
export const UNKNOWN_TYPE = 'application/octet-stream';

export interface Named {
  filename: string | null;
  /** As the client or a server called it. */
  declared: string | null;
}

/** Names for one type: what the sniffer says, and what everybody else does. */
const USUAL: Readonly<Record<string, string>> = {
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

export async function sniff(head: Buffer, named: Named): Promise<string> {
  // A sample cut off in the middle may end a parser early: what it cannot tell is unknown.
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  const type = found?.mime;
  if (type === undefined || type === 'application/xml') return textType(head, named);
  const usual = USUAL[type] ?? type;
  if (usual === 'application/zip') return IN_ZIP[extensionOf(named.filename)] ?? usual;
  if (usual === 'application/x-ole-storage') return IN_OLE[extensionOf(named.filename)] ?? usual;
  return usual;
}

/** Text says nothing of its kind: its name does, then who sent it. */
function textType(head: Buffer, { filename, declared }: Named): string {
  if (!isText(head)) return UNKNOWN_TYPE;
  const byName = TEXTS[extensionOf(filename)];
  if (byName !== undefined) return byName;
  const bare = bareType(declared);
  return bare !== null && TEXT_TYPES.has(bare) ? bare : 'text/plain';
}

const NUL = 0;
/** The longest character in UTF-8 less one: where a sample may have cut one. */
const CUT = 3;

function isText(head: Buffer): boolean {
  if (head.includes(NUL)) return false;
  for (let cut = 0; cut <= Math.min(CUT, head.length); cut++) {
    if (isUtf8(head.subarray(0, head.length - cut))) return true;
  }
  return false;
}

function extensionOf(filename: string | null): string {
  return /\.([a-z0-9]{1,8})$/i.exec(filename ?? '')?.[1]?.toLowerCase() ?? '';
}

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** `text/csv` of `Text/CSV; charset=utf-8`; null for what is no media type. */
export function bareType(type: string | null | undefined): string | null {
  const bare = (type ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return TYPE.test(bare) ? bare : null;
}

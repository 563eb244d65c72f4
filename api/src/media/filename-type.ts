import { extensionOf, shortenFilename } from '@gwk/core/text/filenames';
import mime from 'mime-types';

const UNKNOWN_TYPE = 'application/octet-stream';
/** The usual extension, where the registry lists another one first. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/aac': 'aac',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'text/vcard': 'vcf',
  'video/quicktime': 'mov',
};
/** Other names for the type of an extension. */
const SAME_TYPES: readonly ReadonlySet<string>[] = [
  new Set(['application/vnd.rar', 'application/x-rar-compressed']),
  new Set(['application/x-msdownload', 'application/x-msdos-program']),
  new Set(['application/xml', 'text/xml']),
];
/** Extensions of programs of a web server: they promise no type. */
const PROGRAMS: ReadonlySet<string> = new Set(['php', 'cgi', 'asp', 'aspx', 'jsp', 'do', 'com']);
/** Contents that have many types: any extension fits. */
const GENERIC_TYPES: ReadonlySet<string> = new Set([
  UNKNOWN_TYPE,
  'application/zip',
  'application/x-ole-storage',
  'application/xml',
]);

/** The media type that a name promises. Null: none. */
export function lookUpType(filename: string | null): string | null {
  const extension = extensionOf(filename);
  return extension === '' || PROGRAMS.has(extension) ? null : mime.lookup(extension) || null;
}

/** Appends the extension of the type unless the name has one that fits. Phones open a document by its extension. */
export function fitExtension(filename: string, type: string): string {
  const extension = extensionOf(filename);
  if (extension !== '' && fits(extension, type)) return filename;
  const fitting = EXTENSIONS[type] ?? mime.extension(type);
  if (!fitting || type === UNKNOWN_TYPE) return filename;
  return `${shortenFilename(filename, 255 - fitting.length - 1)}.${fitting}`;
}

function fits(extension: string, type: string): boolean {
  if (EXTENSIONS[type] === extension || mime.extensions[type]?.includes(extension)) return true;
  if (PROGRAMS.has(extension)) return false;
  const usual = mime.lookup(extension);
  // Programs and logs have many extensions that no registry knows.
  if (GENERIC_TYPES.has(type) || !mime.extension(type) || (type === 'text/plain' && !isBinary(usual)))
    return true;
  if (usual === false) return false;
  return SAME_TYPES.some((same) => same.has(usual) && same.has(type)) || isSameMedia(usual, type);
}

const isBinary = (type: string | false): boolean =>
  type !== false && (/^(image|audio|video)\//.test(type) || type === 'application/pdf');

/** MP4, Ogg and WebM contain audio or video. */
function isSameMedia(one: string, other: string): boolean {
  const [kind, format] = one.split('/');
  const [otherKind, otherFormat] = other.split('/');
  return (
    format === otherFormat && ['audio', 'video'].includes(kind!) && ['audio', 'video'].includes(otherKind!)
  );
}

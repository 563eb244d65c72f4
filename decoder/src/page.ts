import { readFile } from 'node:fs/promises';
import { codePoints } from '@gwk/core/resources/common';
import { decodeBuffer } from 'encoding-sniffer';
import { Parser } from 'htmlparser2';
import type { PageMetadata } from '@gwk/core/decoder/jobs';

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 400;
/** Longest URL of a picture. Browsers and servers accept no longer ones. */
const MAX_IMAGE_URL = 2_048;

const META_NAMES: Readonly<Record<string, keyof PageMetadata>> = {
  'og:title': 'title',
  'twitter:title': 'title',
  'og:description': 'description',
  'twitter:description': 'description',
  description: 'description',
  'og:image': 'image',
  'twitter:image': 'image',
};

/**
 * Reads title, description and picture from the head of an HTML page.
 * @param charset as the server states it
 */
export async function readPage(input: string, charset: string | null): Promise<PageMetadata> {
  return parsePage(decodePage(await readFile(input), charset));
}

/** Decodes a page as browsers do: by its byte order mark, its server, its own statement, else as UTF-8 or Windows-1252. */
export function decodePage(bytes: Buffer, charset: string | null): string {
  return decodeBuffer(bytes, {
    // Browsers also obey a statement after the first 1,024 bytes.
    maxBytes: bytes.length,
    ...(charset !== null && { transportLayerEncodingLabel: charset }),
    defaultEncoding: isUtf8(bytes) ? 'utf-8' : 'windows-1252',
  });
}

/** The last character may be cut. */
function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The time of htmlparser2 grows with the square of the length for some pages, so only a tool process may call this. */
export function parsePage(html: string): PageMetadata {
  const found: PageMetadata = { title: null, description: null, image: null };
  let titleText = '';
  let inTitle = false;
  const parser = new Parser({
    onopentag(name, { property, name: named, content }) {
      if (name === 'title') inTitle = titleText === '';
      if (name === 'body') parser.pause();
      const field = name === 'meta' ? META_NAMES[(property ?? named ?? '').toLowerCase()] : undefined;
      if (field !== undefined && content) found[field] ??= content;
    },
    ontext(text) {
      if (inTitle) titleText += text;
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
      if (name === 'head') parser.pause();
    },
  });
  parser.end(html);
  return {
    title: clean(found.title ?? titleText, MAX_TITLE),
    description: clean(found.description ?? '', MAX_DESCRIPTION),
    image: found.image !== null && found.image.length <= MAX_IMAGE_URL ? found.image : null,
  };
}

function clean(text: string, max: number): string | null {
  const line = text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (line === '') return null;
  return codePoints(line) <= max ? line : `${[...line].slice(0, max - 1).join('')}…`;
}

import type { Readable } from 'node:stream';
import { codePoints } from '@gwk/core/resources/common';
import type { LinkPreview } from '@gwk/core/resources/finished-media';
import { Parser } from 'htmlparser2';
import { decodeFile, type DecodeDeps } from './decode.js';
import type { Fetcher } from './fetcher.js';

type PreviewDeps = Omit<DecodeDeps, 'signal'> & { fetcher: Fetcher };

const TIMEOUT_MS = 10_000;
const MAX_PAGE_BYTES = 512_000;
const MAX_IMAGE_BYTES = 5_000_000;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 400;
const LINK = /\bhttps?:\/\/[^\s<>"'`]+/i;
const TRAILING = '.,;:!?)]}*_~';
/** Browsers and servers accept no longer links. Parsing a host name takes time that grows with its square. */
const MAX_LINK = 2_048;

/** Finds the first link, without punctuation after it. A link of more than 2,048 characters counts as none. */
export function firstLink(text: string): string | null {
  const found = LINK.exec(text)?.[0] ?? '';
  let end = found.length;
  while (end > 0 && TRAILING.includes(found[end - 1]!)) end -= 1;
  const link = found.slice(0, end);
  return end <= MAX_LINK && URL.canParse(link) ? link : null;
}

/**
 * Builds the preview of the first link of a text. If it fails, the message is sent without a preview: only the signal makes it
 * throw.
 */
export async function buildPreview(
  text: string,
  deps: PreviewDeps,
  signal: AbortSignal,
): Promise<LinkPreview | null> {
  const url = firstLink(text);
  if (url === null) return null;
  const whole = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const page = await deps.fetcher.fetch(url, Number.MAX_SAFE_INTEGER, whole);
    if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(page.type ?? '')) {
      page.body.on('error', () => undefined).destroy();
      return null;
    }
    const { title, description, image } = await readPage(page.body);
    if (title === null) return null;
    const thumbnail =
      image === null ? null : await fetchThumbnail(image, page.url, { ...deps, signal: whole });
    return { url, title, description, thumbnail };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

interface PageMetadata {
  title: string | null;
  description: string | null;
  image: string | null;
}

const META_NAMES: Readonly<Record<string, keyof PageMetadata>> = {
  'og:title': 'title',
  'twitter:title': 'title',
  'og:description': 'description',
  'twitter:description': 'description',
  description: 'description',
  'og:image': 'image',
  'twitter:image': 'image',
};

/** Reads the head of the page, at most 512 kB. */
export async function readPage(body: Readable): Promise<PageMetadata> {
  const found: PageMetadata = { title: null, description: null, image: null };
  let titleText = '';
  let inTitle = false;
  let ended = false;
  const parser = new Parser({
    onopentag(name, { property, name: named, content }) {
      if (ended) return;
      if (name === 'title') inTitle = titleText === '';
      if (name === 'body') ended = true;
      const field = name === 'meta' ? META_NAMES[(property ?? named ?? '').toLowerCase()] : undefined;
      if (field !== undefined && content) found[field] ??= content;
    },
    ontext(text) {
      if (inTitle && titleText.length < MAX_PAGE_BYTES) titleText += text;
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
      if (name === 'head') ended = true;
    },
  });
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    parser.write(decoder.decode(chunk, { stream: true }));
    if (ended || bytes >= MAX_PAGE_BYTES) break;
  }
  parser.end();
  return {
    title: clean(found.title ?? titleText, MAX_TITLE),
    description: clean(found.description ?? '', MAX_DESCRIPTION),
    image: found.image,
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

async function fetchThumbnail(
  image: string,
  page: URL,
  deps: PreviewDeps & DecodeDeps,
): Promise<string | null> {
  if (!URL.canParse(image, page.href)) return null;
  const open = async () =>
    limitImage((await deps.fetcher.fetch(new URL(image, page).href, MAX_IMAGE_BYTES, deps.signal)).body);
  try {
    return await decodeFile(open, { tool: 'thumbnail' }, deps, ({ thumbnail }) => thumbnail ?? null);
  } catch {
    return null; // the preview then has no picture
  }
}

async function* limitImage(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = MAX_IMAGE_BYTES;
  for await (const chunk of body) {
    left -= chunk.length;
    if (left < 0) throw new Error('too large');
    yield chunk;
  }
}

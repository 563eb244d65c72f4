import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform, type Readable, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codePoints } from '@gwk/core/resources/common';
import type { LinkPreview } from '@gwk/core/resources/finished-media';
import { Parser } from 'htmlparser2';
import type { Tools } from '../tools/run.js';
import type { Fetcher } from './fetcher.js';
import { jobFolder } from './job-folder.js';

/**
 * The preview of the first link of a text (spec: `preview_url`). Whatever fails, the message leaves without: nothing
 * here throws but for the end of the worker.
 */
export interface PreviewDeps {
  fetcher: Fetcher;
  tools: Tools;
  folder: string;
}

const TIME_MS = 10_000;
const MAX_PAGE_BYTES = 512_000;
const MAX_IMAGE_BYTES = 5_000_000;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 400;
const LINK = /\bhttps?:\/\/[^\s<>"'`]+/i;
const TRAILING = /[.,;:!?)\]}*_~]+$/;

/** Without what closes the sentence around it. */
export function firstLink(text: string): string | null {
  const found = LINK.exec(text)?.[0].replace(TRAILING, '') ?? null;
  return found !== null && URL.canParse(found) ? found : null;
}

export async function previewOf(
  text: string,
  deps: PreviewDeps,
  signal: AbortSignal,
): Promise<LinkPreview | null> {
  const url = firstLink(text);
  if (url === null) return null;
  const whole = AbortSignal.any([signal, AbortSignal.timeout(TIME_MS)]);
  try {
    const page = await deps.fetcher.fetch(url, Number.MAX_SAFE_INTEGER, whole);
    if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(page.type ?? '')) {
      page.body.on('error', () => undefined).destroy();
      return null;
    }
    const said = await readPage(page.body);
    if (said.title === null) return null;
    const { title, description, image } = said;
    const thumbnail = image === null ? null : await pictureOf(image, page.url, deps, whole);
    return { url, title, description, thumbnail };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

export interface PageSaid {
  title: string | null;
  description: string | null;
  image: string | null;
}

const WANTED: Readonly<Record<string, keyof PageSaid>> = {
  'og:title': 'title',
  'twitter:title': 'title',
  'og:description': 'description',
  'twitter:description': 'description',
  description: 'description',
  'og:image': 'image',
  'twitter:image': 'image',
};

/** Reads until the head of the page has ended, or as much as is read of any page. */
export async function readPage(body: Readable): Promise<PageSaid> {
  const said: PageSaid = { title: null, description: null, image: null };
  let heading = '';
  let inTitle = false;
  let ended = false;
  const parser = new Parser({
    onopentag(name, { property, name: named, content }) {
      if (ended) return;
      if (name === 'title') inTitle = heading === '';
      if (name === 'body') ended = true;
      const wanted = name === 'meta' ? WANTED[(property ?? named ?? '').toLowerCase()] : undefined;
      if (wanted !== undefined && content) said[wanted] ??= content;
    },
    ontext(text) {
      if (inTitle && heading.length < MAX_PAGE_BYTES) heading += text;
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
    title: clean(said.title ?? heading, MAX_TITLE),
    description: clean(said.description ?? '', MAX_DESCRIPTION),
    image: said.image,
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

async function pictureOf(
  image: string,
  page: URL,
  { fetcher, tools, folder: parent }: PreviewDeps,
  signal: AbortSignal,
): Promise<string | null> {
  if (!URL.canParse(image, page.href)) return null;
  const folder = await jobFolder(parent);
  try {
    const { body } = await fetcher.fetch(new URL(image, page).href, MAX_IMAGE_BYTES, signal);
    const input = join(folder, 'input');
    await pipeline(body, new AtMost(MAX_IMAGE_BYTES), createWriteStream(input, { mode: 0o600 }), { signal });
    return (await tools.run({ tool: 'thumbnail', input }, folder, signal)).thumbnail ?? null;
  } catch {
    return null; // a preview without its picture is one still
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class AtMost extends Transform {
  #left: number;

  constructor(bytes: number) {
    super();
    this.#left = bytes;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#left -= chunk.length;
    if (this.#left < 0) done(new Error('too large'));
    else done(null, chunk);
  }
}

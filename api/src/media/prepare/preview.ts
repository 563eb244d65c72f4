import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import { newUuid } from '@gwk/core/ids/ids';
import type { LinkPreview } from '@gwk/core/resources/finished-media';
import { findFirstLink } from '../../messages/first-link.js';
import type { MediaFiles } from '../files.js';
import { MAX_CHARSET, type ToolAnswer } from '@gwk/core/decoder/jobs';
import { openOutputStream, receiveConverted } from './convert.js';
import { decodeFile, type DecodeDeps } from './decode.js';
import { ACCEPT, type Fetcher } from './fetcher.js';

interface PreviewDeps extends Omit<DecodeDeps, 'signal'> {
  fetcher: Fetcher;
  files: Pick<MediaFiles, 'receive' | 'keep'>;
  /** Id of the message. */
  message: string;
}
type Pictures = Pick<LinkPreview, 'thumbnail' | 'picture'>;

const TIMEOUT_MS = 10_000;
const MAX_PAGE_BYTES = 512_000;
const MAX_IMAGE_BYTES = 5_000_000;
/** Time for the body of a page. */
const READ_MS = 5_000;
const PAGES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);
const NO_PICTURES: Pictures = { thumbnail: null };
const HEAD_END = /<\/head/i;
const HEAD_END_LENGTH = '</head'.length;
/**
 * Builds the preview of the first link of a text. If it fails, the message is sent without a preview: only the signal makes it
 * throw.
 */
export async function buildPreview(
  text: string,
  deps: PreviewDeps,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<LinkPreview | null> {
  const link = findFirstLink(text);
  if (link === null) return null;
  const whole = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const page = await deps.fetcher.fetch(link.url.href, Number.MAX_SAFE_INTEGER, whole);
    const type = parseType(page.type);
    if (type === null || !PAGES.has(type.essence)) {
      page.body.on('error', () => undefined).destroy();
      return null;
    }
    const source = { open: () => Promise.resolve(readHead(page.body)), isRemote: true };
    const work = { ...deps, signal: whole };
    const metadata = await decodeFile(
      source,
      { tool: 'page', charset: readCharset(type) },
      work,
      (answer) => answer.page,
    );
    const { title, description, image } = metadata ?? { title: null, description: null, image: null };
    if (title === null) return null;
    const pictures = image === null ? NO_PICTURES : await fetchPictures(image, page.url, work);
    return { url: link.text, title, description, ...pictures };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

function parseType(type: string | null): MIMEType | null {
  try {
    return new MIMEType(type ?? '');
  } catch {
    return null;
  }
}

function readCharset({ params }: MIMEType): string | null {
  const charset = params.get('charset');
  return charset !== null && charset.length <= MAX_CHARSET ? charset : null;
}

/** Yields the page up to the end of its head, at most 512 kB and at most 5 s of it. */
export async function* readHead(body: Readable, readMs = READ_MS): AsyncGenerator<Buffer> {
  const clock = setTimeout(() => body.destroy(), readMs);
  let bytes = 0;
  let before = '';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, MAX_PAGE_BYTES - bytes);
      bytes += chunk.length;
      const text = before + chunk.toString('latin1');
      if (bytes >= MAX_PAGE_BYTES || HEAD_END.test(text)) break;
      before = text.slice(1 - HEAD_END_LENGTH);
    }
  } catch (error) {
    // The head may be complete in a page that breaks later.
    if (bytes === 0) throw error;
  } finally {
    clearTimeout(clock);
  }
}

async function fetchPictures(image: string, page: URL, deps: PreviewDeps & DecodeDeps): Promise<Pictures> {
  if (!URL.canParse(image, page.href)) return NO_PICTURES;
  const url = new URL(image, page).href;
  const open = async () =>
    limitImage((await deps.fetcher.fetch(url, MAX_IMAGE_BYTES, deps.signal, ACCEPT.picture)).body);
  try {
    return await decodeFile({ open, isRemote: true }, { tool: 'thumbnail' }, deps, async (answer, output) => {
      const { thumbnail = null } = answer;
      const picture = await storePicture(answer, output, deps).catch(() => null);
      return { thumbnail, ...(picture && { picture }) };
    });
  } catch {
    return NO_PICTURES;
  }
}

async function storePicture(
  { converted, width, height }: ToolAnswer,
  output: string,
  { files, accountId, message }: PreviewDeps,
): Promise<LinkPreview['picture'] | null> {
  if (!converted || !width || !height) return null;
  const file = await receiveConverted(openOutputStream(output), files);
  const owner = { accountId, messageId: message };
  const { id, sha256 } = await files.keep(file, {
    ...{ id: newUuid(), origin: 'unasked', filename: null },
    ...owner,
  });
  return { file: id, sha256: sha256.toString('hex'), width, height };
}

async function* limitImage(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = MAX_IMAGE_BYTES;
  for await (const chunk of body) {
    left -= chunk.length;
    if (left < 0) throw new Error('too large');
    yield chunk;
  }
}

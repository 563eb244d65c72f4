import { pipeline } from 'node:stream/promises';
import { Problem } from '@gwk/core/problems';
import type { RequestHandler } from 'express';
import type { Exchange, Named, Reply } from '../http/exchange.js';
import type { Observer } from '../http/respond.js';
import type { MediaFiles, MediaRow } from './files.js';
import type { MediaLinks } from './links.js';
import { readRange } from './range.js';
import { FileMissing } from './store/store.js';

/**
 * Downloads by link. What strangers uploaded is shown by no browser as a page of this host: `attachment`, `nosniff` and
 * a sandbox, and no cookies. A link is its own authority, so neither keys nor their rate limits come into it.
 */
export interface DownloadDeps {
  files: MediaFiles;
  links: MediaLinks;
  observer: Observer;
}

/** As metrics and the access log name it. */
const DOWNLOAD: Named = { name: 'downloadMedia' };

export function downloads({ files, links, observer }: DownloadDeps): RequestHandler {
  const handle = async (request: unknown, response: unknown): Promise<void> => {
    const req = request as Exchange;
    const res = response as Reply;
    req.operation = DOWNLOAD;
    const row = await rowOf(req, files, links);
    const etag = `"${row.sha256.toString('hex')}"`;
    const head = headersOf(row, req.requestId, etag);
    if (observer.closing) head.push('Connection', 'close');
    if (req.headers['if-none-match'] === etag) return end(req, res, { status: 304, head }, observer);
    const usesRange = req.headers['if-range'] === undefined || req.headers['if-range'] === etag;
    const range = readRange(usesRange ? req.headers.range : undefined, row.size);
    if (range.kind === 'unsatisfiable') {
      head.push('Content-Range', `bytes */${row.size}`, 'Content-Length', '0');
      return end(req, res, { status: 416, head }, observer);
    }
    const { start, end: last } = range.kind === 'part' ? range : { start: 0, end: row.size - 1 };
    const status = range.kind === 'part' ? 206 : 200;
    head.push('Content-Type', row.mimetype, 'Content-Length', String(last - start + 1));
    if (status === 206) head.push('Content-Range', `bytes ${start}-${last}/${row.size}`);
    if (req.method === 'HEAD') return end(req, res, { status, head }, observer);
    const body = await files.open(row, start, last).catch((error: unknown) => {
      throw error instanceof FileMissing ? new Problem('media-expired') : error;
    });
    res.writeHead(status, head);
    // From here on there is no deadline for the answer: it takes as long as the client takes it. One that takes nothing is
    // let go by the listener.
    observer.answered(req, status);
    // A broken end of the file or of the connection: the announced length tells the client.
    await pipeline(body, res).catch(() => res.destroy());
  };
  return handle;
}

async function rowOf(req: Exchange, files: MediaFiles, links: MediaLinks): Promise<MediaRow> {
  const id = String(req.params['media_id']);
  const { expires, signature } = req.query;
  const verdict = links.check({ id, expires, signature });
  if (!verdict.ok) {
    if (verdict.why === 'forged') throw new Problem('not-found');
    throw new Problem('media-expired', { detail: 'O link expirou. Peça outro em GET /v1/media/{media_id}.' });
  }
  req.subject = id;
  const row = await files.find(verdict.mediaId);
  if (!row) throw new Problem('not-found');
  if (row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) throw new Problem('media-expired');
  return row;
}

function headersOf(row: MediaRow, requestId: string, etag: string): string[] {
  return [
    ...['X-Request-ID', requestId],
    ...['ETag', etag],
    ...['Accept-Ranges', 'bytes'],
    ...['Content-Disposition', disposition(row.filename)],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Content-Security-Policy', "default-src 'none'; sandbox"],
    ...['Cross-Origin-Resource-Policy', 'cross-origin'],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cache-Control', 'private, no-store'],
  ];
}

/** (RFC 6266) The name in UTF-8, encoded so that nothing of it can end the header. */
export function disposition(filename: string | null): string {
  if (filename === null) return 'attachment';
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

function end(
  req: Exchange,
  res: Reply,
  { status, head }: { status: number; head: string[] },
  observer: Observer,
): void {
  res.writeHead(status, head);
  res.end();
  observer.answered(req, status);
}

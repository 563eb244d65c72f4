import { getNetwork } from '@gwk/core/http/client-network';
import { Problem } from '@gwk/core/problems/problems';
import type { RequestHandler } from 'express';
import type { Exchange, Named, Reply } from '../http/exchange.js';
import type { Observer } from '../http/respond.js';
import type { MediaFiles, MediaRow } from './files.js';
import type { MediaLinks } from './links.js';
import { sendFile } from './send-file.js';
import { FileMissing } from './store/store.js';
import type { Subjects, Transfers } from './transfers/transfers.js';

/** Name of the operation in metrics and the access log. A download may wait for others of its account to begin. */
const DOWNLOAD: Named = { name: 'downloadMedia', maxWorkMs: 20_000 };

/**
 * Serves downloads by signed link, without API keys and their rate limits. Uploaded files are untrusted, so no browser shows
 * them as a page of this host: `attachment`, `nosniff`, a sandbox and no cookies.
 */
export function createDownloadHandler(
  { files, links, downloads }: { files: MediaFiles; links: MediaLinks; downloads: Transfers },
  observer: Observer,
): RequestHandler {
  const handle = async (request: unknown, response: unknown): Promise<void> => {
    const req = request as Exchange;
    const res = response as Reply;
    req.operation = DOWNLOAD;
    const mediaId = openLink(req, links);
    const seen = { file: mediaId, address: getNetwork(req.ip ?? '') };
    checkBounds(req, downloads, seen);
    const row = await findRow(mediaId, files);
    const etag = `"${row.sha256.toString('hex')}"`;
    const head = buildHeaders(row, req.requestId, etag);
    if (observer.closing) head.push('Connection', 'close');
    const end = (status: number): void => {
      res.writeHead(status, head);
      res.end();
      observer.answered(req, status);
    };
    if (req.headers['if-none-match'] === etag) return end(304);
    const usesRange = req.headers['if-range'] === undefined || req.headers['if-range'] === etag;
    const part = parseRange(usesRange ? req.headers.range : undefined, row.size);
    if (part && part.start >= row.size) {
      head.push('Content-Range', `bytes */${row.size}`, 'Content-Length', '0');
      return end(416);
    }
    const { start, end: last } = part ?? { start: 0, end: row.size - 1 };
    const status = part ? 206 : 200;
    head.push('Content-Type', row.mimetype, 'Content-Length', String(last - start + 1));
    if (part) head.push('Content-Range', `bytes ${start}-${last}/${row.size}`);
    if (req.method === 'HEAD') return end(status);
    const subjects = { ...seen, account: row.accountId };
    const file = { files, row, range: { start, end: last }, response: res };
    await sendFile(file, { transfers: downloads, subjects }, () => {
      res.writeHead(status, head);
      // The answer has no deadline from here on. Slow clients are disconnected.
      observer.answered(req, status);
    }).catch((error: unknown) => {
      throw error instanceof FileMissing ? new Problem('media-expired') : error;
    });
  };
  return handle;
}

/** So that a crowd that is refused costs no query. An answer without a body is no transfer. */
function checkBounds({ method, headers }: Exchange, downloads: Transfers, seen: Subjects): void {
  if (method === 'GET' && headers['if-none-match'] === undefined) downloads.check(seen);
}

/** @returns the id of the file */
function openLink(req: Exchange, links: MediaLinks): string {
  const id = String(req.params['media_id']);
  const { expires, signature } = req.query;
  const mediaId = links.open({ id, expires, signature });
  req.subject = id;
  return mediaId;
}

async function findRow(mediaId: string, files: MediaFiles): Promise<MediaRow> {
  const row = await files.find(mediaId);
  if (!row) throw new Problem('not-found');
  if (row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) throw new Problem('media-expired');
  return row;
}

function buildHeaders(row: MediaRow, requestId: string, etag: string): string[] {
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

/** RFC 6266 header value with the name in UTF-8, percent-encoded so that it cannot end the header. */
function disposition(filename: string | null): string {
  if (filename === null) return 'attachment';
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Reads the part that a `Range` header requests (RFC 9110), both ends included; a part that starts after the end is not
 * satisfiable. Null: the whole file, also for several ranges, other units and malformed headers, as the RFC allows.
 */
function parseRange(header: string | undefined, size: number): { start: number; end: number } | null {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size - 1 };
  if (last === '') return { start: Number(first), end: size - 1 };
  return Number(last) < Number(first)
    ? null
    : { start: Number(first), end: Math.min(Number(last), size - 1) };
}

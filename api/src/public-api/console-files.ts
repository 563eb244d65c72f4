import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestHandler } from 'express';
import { Problem } from '@gwk/core/problems/problems';
import type { readConsoleAddress } from '../http/console-url.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { stripQuery, respond, type Answer, type Observer } from '../http/respond.js';

/** The built files of the workspace `console`, beside this one. */
const BUILT = join(import.meta.dirname, '../../../console/dist');
const ROOT = '/console';
const API = `${ROOT}/api`;
const ASSETS = `${ROOT}/assets/`;
/** In index.html (console/vite.config.js). */
const NONCE = /CSP_NONCE/g;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Compressed copies of a file by preference: encoding and file ending. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/**
 * Serves the web console: hashed files that browsers keep for a year, and for every other path its page, which shows the
 * screen of the address. Requests outside /console, and those of /console/api, pass on. So do all without built files.
 */
export function serveConsole(
  observer: Observer,
  { ownHost, secure, media }: ReturnType<typeof readConsoleAddress>,
  folder: string = BUILT,
): RequestHandler {
  if (!existsSync(join(folder, 'index.html'))) return (_request, _response, next) => next();
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const assets = readAssets(join(folder, 'assets'));
  const finish = secure ? withHttpsOnly : (answer: Answer) => answer;
  return (request, response, next) => {
    const req = request as Exchange;
    const path = stripQuery(req.url);
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    if (path === '/' && isRead && ownHost !== null && req.headers.host?.toLowerCase() === ownHost)
      return respond(req, response as Reply, TO_CONSOLE, observer);
    if (!isWithin(path, ROOT) || isWithin(path, API)) return next();
    if (!isRead) throw new Problem('method-not-allowed', { allow: 'GET, HEAD' });
    const answer = path.startsWith(ASSETS)
      ? answerAsset(assets.get(path.slice(ASSETS.length)), req.headers['accept-encoding'] ?? '')
      : answerPage(page, media);
    respond(req, response as Reply, finish(answer), observer);
  };
}

/** Subdomains may be of others. */
const withHttpsOnly = (answer: Answer): Answer => ({
  ...answer,
  headers: [...(answer.headers ?? []), 'Strict-Transport-Security', 'max-age=31536000'],
});

const TO_CONSOLE: Answer = { status: 302, headers: ['Location', ROOT, 'Cache-Control', 'no-store'] };

const isWithin = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`);

interface Asset {
  type: string;
  /** By encoding; the empty one is the file itself. All requests share these bytes. */
  bytes: Map<string, Buffer>;
}

/** Reads all files, a few MB. Their names are hashed, so they never change. */
function readAssets(folder: string): Map<string, Asset> {
  const names = new Set(readdirSync(folder));
  const assets = new Map<string, Asset>();
  for (const name of names) {
    const type = TYPES[name.split('.').at(-1)!];
    if (type === undefined) continue;
    const bytes = new Map([['', readFileSync(join(folder, name))]]);
    for (const [encoding, ending] of ENCODINGS)
      if (names.has(name + ending)) bytes.set(encoding, readFileSync(join(folder, name + ending)));
    assets.set(name, { type, bytes });
  }
  return assets;
}

function answerAsset(asset: Asset | undefined, accepted: string): Answer {
  // A page of the former version asks for files that are gone: its own message is better than the page.
  if (!asset) throw new Problem('not-found');
  const words = accepted.split(/[\s,;]+/);
  const [encoding = ''] = ENCODINGS.find(([name]) => words.includes(name) && asset.bytes.has(name)) ?? [];
  return {
    status: 200,
    type: asset.type,
    body: asset.bytes.get(encoding),
    headers: [
      ...['Cache-Control', 'public, max-age=31536000, immutable'],
      ...['X-Content-Type-Options', 'nosniff', 'Vary', 'Accept-Encoding'],
      ...(encoding === '' ? [] : ['Content-Encoding', encoding]),
    ],
  };
}

/** @param media origin of the links to files, which may have a host of their own */
function answerPage(page: string, media: string): Answer {
  const nonce = randomBytes(16).toString('base64url');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    // The component library adds style elements, which carry the nonce.
    `style-src 'self' 'nonce-${nonce}'`,
    // QR codes of a pairing are data URLs.
    `img-src 'self' data: ${media}`,
    `media-src 'self' ${media}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: page.replace(NONCE, nonce),
    headers: [
      ...['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
      ...['Referrer-Policy', 'no-referrer', 'Cross-Origin-Opener-Policy', 'same-origin'],
      ...['Content-Security-Policy', policy.join('; ')],
    ],
  };
}

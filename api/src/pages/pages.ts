import type { NextFunction, RequestHandler } from 'express';
import type { Exchange, Reply } from '../http/exchange.js';
import type { Operation } from '../http/operation.js';
import { MethodNotAllowed } from '../http/problem-handler.js';
import { pathOf, respond, type Answer, type Observer } from '../http/respond.js';
import type { ApiConfig } from '../http/services.js';
import { openApiDocument } from '../openapi/document.js';

/** What the API serves beside its operations: the description of the interface. Public; made when first asked for. */
export type Pages = ReadonlyMap<string, () => Answer>;

const MAX_AGE = ['Cache-Control', 'public, max-age=300', 'X-Content-Type-Options', 'nosniff'];

export function pagesOf(operations: readonly Operation[], config: ApiConfig): Pages {
  const { baseUrl, docsUrl = baseUrl } = config;
  return new Map([
    [
      '/openapi.json',
      once(() => ({
        status: 200,
        body: JSON.stringify(openApiDocument({ operations, baseUrl, docsUrl })),
        headers: MAX_AGE,
      })),
    ],
  ]);
}

export function servePages(pages: Pages, observer: Observer): RequestHandler {
  return (request, response, next: NextFunction) => {
    const req = request as Exchange;
    const page = pages.get(pathOf(req.url));
    if (!page) return next();
    if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowed('GET, HEAD');
    respond(req, response as Reply, page(), observer);
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

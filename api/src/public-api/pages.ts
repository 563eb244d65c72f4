import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NextFunction, RequestHandler } from 'express';
import { Problem, PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { renderProblemHtml, renderProblemListHtml } from './problem-pages.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { stripQuery, respond, type Answer, type Observer } from '../http/respond.js';
import type { ApiConfig } from '../http/services.js';
import { openApiDocument } from '../openapi/document.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from './operations.js';

/**
 * Public pages besides the operations: the OpenAPI document, a page that shows it, and a page per problem. They load
 * nothing from other hosts.
 */
export type Pages = ReadonlyMap<string, () => Answer>;

const HTML = 'text/html; charset=utf-8';
const GENERAL = ['Cache-Control', 'public, max-age=300', 'X-Content-Type-Options', 'nosniff'];
const BARE = [...GENERAL, 'Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];

export function createPages(config: ApiConfig): Pages {
  const { baseUrl, docsUrl = baseUrl } = config;
  const describe = (of: Parameters<typeof openApiDocument>[0]) =>
    once((): Answer => ({
      status: 200,
      body: Buffer.from(JSON.stringify(openApiDocument(of))),
      headers: GENERAL,
    }));
  const where = { baseUrl, docsUrl };
  const served = config.console ? [...OPERATIONS, ...CONSOLE_OPERATIONS] : OPERATIONS;
  return new Map<string, () => Answer>([
    ['/openapi.json', describe({ operations: OPERATIONS, ...where })],
    ...(config.console
      ? [
          [
            '/console/api/openapi.json',
            describe({ operations: CONSOLE_OPERATIONS, of: 'console', ...where }),
          ] as const,
        ]
      : []),
    ['/docs', () => ({ status: 200, type: HTML, body: REFERENCE, headers: headersOfReference(baseUrl) })],
    ['/docs/start.js', () => ({ status: 200, type: JAVASCRIPT, body: START, headers: GENERAL })],
    ['/docs/swagger-ui.css', once(() => readAsset('swagger-ui.css', 'text/css; charset=utf-8'))],
    ['/docs/swagger-ui-bundle.js', once(() => readAsset('swagger-ui-bundle.js', JAVASCRIPT))],
    ['/problems', () => ({ status: 200, type: HTML, body: renderProblemListHtml(), headers: BARE })],
    ...(Object.keys(PROBLEMS) as ProblemCode[]).map((code): [string, () => Answer] => [
      `/problems/${code}`,
      () => ({ status: 200, type: HTML, body: renderProblemHtml(code, served), headers: BARE }),
    ]),
  ]);
}

export function servePages(pages: Pages, observer: Observer): RequestHandler {
  return (request, response, next: NextFunction) => {
    const req = request as Exchange;
    const page = pages.get(stripQuery(req.url));
    if (!page) return next();
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new Problem('method-not-allowed', { allow: 'GET, HEAD' });
    respond(req, response as Reply, page(), observer);
  };
}

const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Reads the files at the first request and caches the bytes, so that slow readers share one copy. */
function readAsset(file: string, type: string): Answer {
  const path = createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`);
  return { status: 200, type, body: readFileSync(path), headers: GENERAL };
}

const REFERENCE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>gwk: reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
});
`;

/** Allows the page to call this API only. */
function headersOfReference(baseUrl: string): string[] {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Swagger UI sets style attributes; styles cannot load anything here.
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(baseUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return [...GENERAL, 'Content-Security-Policy', policy.join('; ')];
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

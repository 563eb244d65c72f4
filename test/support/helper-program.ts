import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Shared by the helper programs of the tests (helper.ts). */
export type Control = Record<string, (body: never) => unknown>;
export type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => Promise<void>;

/** Serves the control routes, and passes everything else to the handler, until standard input closes. */
export function serve(control: Control, handler: Handler): void {
  const server = createServer((request, response) => {
    answer(request, response, control, handler).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  server.keepAliveTimeout = 60_000;
  // Otherwise Node answers a connection that was idle for a minute, possibly while the next request is on its way.
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
  process.stdin.resume().on('end', () => process.exit(0));
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  control: Control,
  handler: Handler,
) {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const path = request.url ?? '/';
  if (!path.startsWith('/control/')) return handler(request, body, response);
  const route = control[path.slice('/control/'.length)];
  if (!route) throw new Error(`no control route ${path}`);
  const result = route(JSON.parse(body) as never) ?? {};
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
}

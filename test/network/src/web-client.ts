import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The answer to requests for the service worker script of the web client, from which the revision of the present client
 * can be read.
 */
export type WebClientAnswer =
  | { kind: 'script'; revision: number }
  /** Ends the connection without an answer. */
  | { kind: 'down' }
  | { kind: 'status'; status: number }
  | { kind: 'html' | 'empty' }
  /** A script with a revision whose body never ends: as fast as the client reads, or a few bytes at a time. */
  | { kind: 'huge' | 'slow'; revision: number }
  /** To a path of the same host that serves the script, or to another name of this machine. */
  | { kind: 'redirect'; to: 'same-host' | 'other-host'; revision: number };

export interface WebClientRequest {
  at: number;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
}

const PATH = '/sw.js';
const MOVED_PATH = '/moved/sw.js';
const KEPT = 1000;
const CHUNK = Buffer.alloc(64 * 1024, ' ');
const SLOW_MS = 50;

/** A web page as captive portals and proxies answer with. It names a revision, too. */
const PAGE = '<!doctype html><html><script>"client_revision":1999999999</script><body>Log in</body></html>';

function scriptOf(revision: number): string {
  const data = { dynamic_data: { SiteData: { server_revision: revision, client_revision: revision } } };
  return `/*FB_PKG_DELIM*/\nself.__swData=JSON.parse(${JSON.stringify(JSON.stringify(data))});\n`;
}

/** The host of the web client, as far as other clients use it. */
export class WebClientHost {
  readonly requests: WebClientRequest[] = [];
  /** Revision of whatsmeow of 30 July 2026. */
  answer: WebClientAnswer = { kind: 'script', revision: 1_044_142_122 };

  handle({ method = '', url: path = '', headers, socket }: IncomingMessage, response: ServerResponse): void {
    if (path !== PATH && path !== MOVED_PATH) return void response.writeHead(404).end();
    this.requests.push({ at: Date.now(), method, path, headers });
    if (this.requests.length > KEPT) this.requests.shift();
    const { answer } = this;
    if (path === MOVED_PATH && 'revision' in answer) return sendText(response, scriptOf(answer.revision));
    if (answer.kind === 'down') return void socket.destroy();
    send(response, answer, `http://localhost:${socket.localPort}${MOVED_PATH}`);
  }
}

function send(
  response: ServerResponse,
  answer: Exclude<WebClientAnswer, { kind: 'down' }>,
  otherUrl: string,
): void {
  switch (answer.kind) {
    case 'status':
      return void response.writeHead(answer.status).end();
    case 'html':
      return sendText(response, PAGE, 'text/html');
    case 'empty':
      return sendText(response, '');
    case 'script':
      return sendText(response, scriptOf(answer.revision));
    case 'redirect':
      response.writeHead(302, { location: answer.to === 'same-host' ? MOVED_PATH : otherUrl }).end();
      return;
    default:
      pour(response, answer);
  }
}

function sendText(response: ServerResponse, text: string, type = 'text/javascript'): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(text);
}

/** Writes the script and then blanks, until the client gives up. */
function pour(
  response: ServerResponse,
  { kind, revision }: { kind: 'huge' | 'slow'; revision: number },
): void {
  response.writeHead(200, { 'content-type': 'text/javascript' });
  response.write(scriptOf(revision));
  if (kind === 'slow') {
    const timer = setInterval(() => response.write(' '), SLOW_MS);
    response.on('close', () => clearInterval(timer));
    return;
  }
  const write = () => {
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on('drain', write);
  write();
}

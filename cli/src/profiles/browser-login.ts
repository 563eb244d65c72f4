import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { on, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { finished } from 'node:stream/promises';
import { ApiError } from '@gwk/client';
import { cleanLine } from '@gwk/core/process/clean-text';
import { note } from '../command.js';
import { CliError, explainFailure } from '../errors.js';
import { fetchFrom } from '../gateway/client.js';

const WAIT_MS = 5 * 60_000;
const REQUEST_MS = 15_000;
/** Codes of the gateway. Other requests to the port are not sent on. */
const CODE = /^[A-Za-z0-9_-]{43}\.\d{1,3}$/;
const DONE = 'The command line has its key. You can close this page.';
const HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'Cache-Control': 'no-store',
  Connection: 'close',
};

export interface LoginChoice {
  key?: true;
  browser: boolean;
}

/** Chooses the source of the key. A pipe is a source of keys, unless the caller asks for an address to open. */
export function chooseWay(
  { key, browser }: LoginChoice,
  isTerminal: boolean,
): 'browser' | 'prompt' | 'input' {
  if (!key && (isTerminal || !browser)) return 'browser';
  return isTerminal ? 'prompt' : 'input';
}

/** The verifier stays in this process, so a code is of no use to other programs (PKCE, RFC 7636). */
export function newProof(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('hex') };
}

/** Terminal and page show it. console/src/keys/key-request.ts computes the same. */
export const shortenChallenge = (challenge: string): string =>
  `${challenge.slice(0, 4)}-${challenge.slice(4, 8)}`.toUpperCase();

/** The page reads the fragment, which browsers send to no server. */
export function makeLoginAddress(
  consoleUrl: string,
  request: Record<'challenge' | 'port' | 'name', string>,
): string {
  const address = new URL('/console/approve-key', consoleUrl);
  address.hash = String(new URLSearchParams(request));
  return address.href;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The command that opens an address in the browser; null: this machine has no screen. */
export function findOpener(platform: string, env: Environment): [command: string, ...args: string[]] | null {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  // Without a screen xdg-open may start a browser in the terminal.
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : null;
}

function openBrowser(address: string): void {
  const [command, ...args] = findOpener(process.platform, process.env) ?? [];
  if (command === undefined) return;
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true });
  // The address is in the terminal, too.
  child.once('error', () => undefined).unref();
}

/**
 * Lets a person approve a key in the console. The browser takes the code of the approval to a port of this machine
 * (RFC 8252), so a person who follows the link of somebody else gives that one nothing.
 * @param opens false: the address is only printed
 * @throws CliError
 */
export async function requestKey(
  consoleUrl: string,
  { opens, waitMs = WAIT_MS }: { opens: boolean; waitMs?: number },
): Promise<string> {
  const { origin } = new URL(consoleUrl);
  await requireConsole(origin);
  const { verifier, challenge } = newProof();
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const name = cleanLine(`gwk on ${hostname()}`).slice(0, 80);
    const address = makeLoginAddress(origin, { challenge, port: String(port), name });
    note(`Approve the key in a browser on this machine:\n\n  ${address}\n`);
    note(
      `The page must show the code ${shortenChallenge(challenge)}. To give a key instead: gwk login --key`,
    );
    if (opens) openBrowser(address);
    return await receiveKey(server, waitMs, (code) => redeem(origin, { code, verifier }));
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

type Take = (code: string) => Promise<string>;

/** Waits for the browser. The wrong code of another page or program does not end the wait. @throws CliError */
async function receiveKey(server: Server, waitMs: number, take: Take): Promise<string> {
  const signal = AbortSignal.timeout(waitMs);
  try {
    for await (const [request, response] of on(server, 'request', { signal })) {
      const key = await answerBrowser(request as IncomingMessage, response as ServerResponse, take);
      if (key !== null) return key;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new CliError('timeout', `Nobody approved the key within ${waitMs / 60_000} minutes`);
}

async function answerBrowser(request: IncomingMessage, response: ServerResponse, take: Take) {
  const code = URL.parse(request.url ?? '', 'http://127.0.0.1')?.searchParams.get('code') ?? '';
  const { status, text, key } = CODE.test(code)
    ? await take(code).then((taken) => ({ status: 200, text: DONE, key: taken }), refuse)
    : { status: 404, text: 'Nothing is here.', key: null };
  response.writeHead(status, HEADERS).end(`${text}\n`);
  // The browser may have gone, but the key exists now.
  await finished(response).catch(() => undefined);
  return key;
}

/** @throws unexpected errors */
function refuse(error: unknown) {
  const failure = explainFailure(error);
  if (!failure) throw error;
  note(failure.message);
  return { status: 422, text: `${failure.message}\n\nRun gwk login again.`, key: null };
}

/** @throws CliError if the console is turned off or elsewhere */
async function requireConsole(origin: string): Promise<void> {
  const signal = AbortSignal.timeout(REQUEST_MS);
  const { status } = await fetchFrom(
    origin,
    new Request(`${origin}/console/api/session/methods`, { signal }),
  );
  if (status !== 404) return;
  throw new CliError(
    'usage',
    `${origin} has no console. Name its address with --console, or give a key with --key`,
  );
}

/** The console accepts changes from its own origin. The key arrives in the body, never in an address. */
async function redeem(origin: string, body: { code: string; verifier: string }): Promise<string> {
  const request = new Request(`${origin}/console/api/key-approvals/redeem`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: origin },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const response = await fetchFrom(origin, request);
  const answer: unknown = await response.json();
  if (!response.ok) throw new ApiError(answer as object, response);
  return (answer as { api_key: string }).api_key;
}

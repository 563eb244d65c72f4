import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestSecure } from 'node:https';
import { BUNDLED, findClientVersionFault, type ClientVersionFault } from '@gwk/core/client-version';
import type { ProxyAgents } from '@gwk/core/proxy/agents';

/** Why a read gave no version. Values are stable: they are labels of a metric. */
export type ReadFault =
  | ClientVersionFault
  | 'unreachable'
  | 'timed_out'
  | 'bad_status'
  | 'redirected_elsewhere'
  | 'too_large'
  | 'not_a_script'
  | 'no_revision';

export class ReadFailure extends Error {
  override name = 'ReadFailure';
  constructor(
    readonly fault: ReadFault,
    options?: ErrorOptions,
  ) {
    super(`the served client version could not be read: ${fault}`, options);
  }
}

/** For the whole read, with redirects. */
const TIMEOUT_MS = 15_000;
/** Far above the script, which has some hundred kB at most. */
const MAX_BYTES = 4_000_000;
const MAX_REDIRECTS = 3;
/** Without these headers the network serves another page. */
const HEADERS = {
  'sec-fetch-site': 'none',
  'user-agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
};

interface SourceOptions {
  /** Address of the service worker script of the web client. */
  url: string;
  /** Null: connects directly. */
  agents: ProxyAgents | null;
  now?: () => number;
  timeoutMs?: number;
}

/**
 * Reads the version that the network serves to its own web client. The answer is a claim: it must be near the bundled
 * version and not older. Nothing is sent but the request.
 *
 * @throws ReadFailure
 */
export async function readServedVersion({
  url,
  agents,
  now = Date.now,
  timeoutMs = TIMEOUT_MS,
}: SourceOptions): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const script = await download(new URL(url), agents, signal).catch((error: unknown) => {
    if (error instanceof ReadFailure) throw error;
    throw new ReadFailure(signal.aborted ? 'timed_out' : 'unreachable', { cause: error });
  });
  // A page of a captive portal or a proxy may contain a revision too.
  if (script.trimStart().startsWith('<')) throw new ReadFailure('not_a_script');
  const version = parseServedVersion(script);
  if (version === null) throw new ReadFailure('no_revision');
  const fault = findClientVersionFault(version, now());
  if (fault !== null) throw new ReadFailure(fault);
  return version;
}

/** The script states its revision as JSON inside a string. Revisions belong to the line of the bundled version. */
export function parseServedVersion(script: string): string | null {
  const revision = /\\?"client_revision\\?"\s*:\s*(\d{1,15})\b/.exec(script)?.[1];
  const [major, minor] = BUNDLED.version.split('.');
  return revision === undefined ? null : `${major}.${minor}.${revision}`;
}

async function download(from: URL, agents: ProxyAgents | null, signal: AbortSignal): Promise<string> {
  let url = from;
  for (let redirects = 0; ; redirects++) {
    const answer = await request(url, agents, signal);
    const { statusCode = 0, headers } = answer;
    if (statusCode === 200) return readBody(answer);
    answer.destroy();
    const isRedirect = statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
    if (!isRedirect || redirects === MAX_REDIRECTS) throw new ReadFailure('bad_status');
    url = new URL(headers.location!, url);
    if (url.origin !== from.origin) throw new ReadFailure('redirected_elsewhere');
  }
}

function request(url: URL, agents: ProxyAgents | null, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    const agent = isSecure ? agents?.https : agents?.http;
    const options = { headers: HEADERS, signal, ...(agent && { agent }) };
    const sent = (isSecure ? requestSecure : requestPlain)(url, options, resolve);
    sent.on('error', reject);
    sent.end();
  });
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new ReadFailure('too_large');
  }
  return Buffer.concat(parts).toString();
}

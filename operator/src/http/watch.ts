import { ApiStatus } from '../cluster/local/api-status.js';
import { badRequestError } from '../cluster/local/desired.js';
import type { Change, Entries } from '../cluster/local/entries.js';
import type { Exchange } from './exchange.js';
import type { ResourceFilter } from './selector.js';

/** Disconnects a client that reads more slowly than changes arrive; it then lists again. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

/** Streams lines `{type, object}` from a version on. Without a version, all current objects come first. */
export function watchChanges(
  { query, request, response }: Exchange,
  entries: Entries,
  matches: ResourceFilter,
): void {
  const from = query.get('resourceVersion');
  const first =
    from === null || from === '' || from === '0' ? snapshot(entries) : entries.since(readVersion(from));
  // A watch is silent while nothing changes. The next request of the connection gets the timeout again.
  request.socket.setTimeout(0);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  const write = (type: string, object: unknown): void => {
    response.write(`${JSON.stringify({ type, object })}\n`);
    if (response.writableLength > MAX_BACKLOG_BYTES) response.destroy();
  };
  if (first === null) {
    write('ERROR', new ApiStatus('Expired', `too old resource version: ${from}`));
    return void response.end();
  }
  const send = ({ type, resource }: Change): void => {
    if (matches(resource)) write(type, resource);
  };
  first.forEach(send);
  const stop = entries.subscribe(send);
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  const timer = seconds > 0 ? setTimeout(() => response.end(), seconds * 1000) : undefined;
  response.once('close', () => {
    stop();
    clearTimeout(timer);
  });
  response.flushHeaders();
}

function snapshot(entries: Entries): Change[] {
  return entries.all().map(({ resource }) => ({ type: 'ADDED', version: 0, resource }));
}

/** @throws ApiStatus */
function readVersion(text: string): number {
  const version = Number(text);
  if (!Number.isSafeInteger(version) || version < 0)
    throw badRequestError(`resourceVersion ${text} is not a number`);
  return version;
}

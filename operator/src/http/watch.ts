import { ApiStatus } from '../cluster/local/api-status.js';
import { badRequest } from '../cluster/local/desired.js';
import type { Change, Entries } from '../cluster/local/entries.js';
import type { Exchange } from './exchange.js';
import type { ResourceFilter } from './selector.js';

/** A client that reads slower than things change is let go: it lists anew. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

/** A stream of lines, `{type, object}`, from a version on; without one, everything that is comes first. */
export function watchChanges(
  { query, request, response }: Exchange,
  entries: Entries,
  selects: ResourceFilter,
): void {
  const from = query.get('resourceVersion');
  const first =
    from === null || from === '' || from === '0' ? snapshot(entries) : entries.since(readVersion(from));
  // A watch says nothing for as long as nothing changes; the next request of its connection has the limit again.
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
  const tell = ({ type, resource }: Change): void => {
    if (selects(resource)) write(type, resource);
  };
  first.forEach(tell);
  const stop = entries.listen(tell);
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
    throw badRequest(`resourceVersion ${text} is not a number`);
  return version;
}

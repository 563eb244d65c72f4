import { get, type IncomingHttpHeaders } from 'node:http';

/** An event stream as its consumer reads it. */
export interface OpenStream {
  readonly events: { event: string; data: Record<string, unknown>; id?: string }[];
  /** Comments, which are the pings. */
  readonly comments: string[];
  state: { status: number; headers: IncomingHttpHeaders; ended: boolean; lastId: string | null };
  close(): void;
}

/** @param caller an API key, or the headers of a browser */
export function openStream(url: string, caller: string | Record<string, string>): OpenStream {
  const events: OpenStream['events'] = [];
  const comments: string[] = [];
  const state: OpenStream['state'] = { status: 0, headers: {}, ended: false, lastId: null };
  const read = (block: string): void => {
    const [, event, id, data] = /^(?:event: (.*)\n)?(?:id: (.*)\n?)?(?:data: (.*))?$/.exec(block) ?? [];
    if (id) state.lastId = id;
    if (event && data)
      events.push({ event, data: JSON.parse(data) as Record<string, unknown>, ...(id && { id }) });
    else if (!id) comments.push(block);
  };
  const headers = typeof caller === 'string' ? { authorization: `Bearer ${caller}` } : caller;
  const request = get(url, { headers, agent: false }, (response) => {
    state.status = response.statusCode ?? 0;
    state.headers = response.headers;
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        read(text.slice(0, end));
        text = text.slice(end + 2);
      }
    });
    response.on('end', () => (state.ended = true));
    response.on('error', () => (state.ended = true));
  });
  request.on('error', () => (state.ended = true));
  return { events, comments, state, close: () => request.destroy() };
}

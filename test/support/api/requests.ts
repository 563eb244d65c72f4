import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

/** Counts the HTTP requests with this path that servers of this process get. */
export function countRequests(path: string): { readonly count: number; stop(): void } {
  let count = 0;
  const onStart = (message: unknown): void => {
    if ((message as { request: IncomingMessage }).request.url === path) count++;
  };
  subscribe('http.server.request.start', onStart);
  return {
    get count() {
      return count;
    },
    stop: () => void unsubscribe('http.server.request.start', onStart),
  };
}

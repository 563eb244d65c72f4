import type { WASocket } from '@whiskeysockets/baileys';

type Socket = Pick<WASocket, 'ws'>;

/** The part of the `ws` package that is used here. */
export interface RawSocket {
  send: (data: Uint8Array, done?: (error?: Error) => void) => void;
  terminate: () => void;
  pause: () => void;
  resume: () => void;
}

export const getRawSocket = ({ ws }: Socket): RawSocket => (ws as unknown as { socket: RawSocket }).socket;

/**
 * Runs `handle` in place of Baileys' listeners of an event.
 * @param handle gets `pass`, which calls the listeners and returns their results
 */
export function interceptEvent<T>(
  { ws }: Socket,
  name: string,
  handle: (data: T, pass: (data: T) => unknown[]) => void,
): void {
  const listeners = ws.listeners(name) as ((data: T) => unknown)[];
  ws.removeAllListeners(name);
  const pass = (data: T): unknown[] => listeners.map((listen) => listen(data));
  ws.on(name, (data: T) => handle(data, pass));
}

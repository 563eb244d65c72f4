import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/**
 * `closeIdleConnections` of a server, which its `close` calls as well, spares connections whose last answer is still on
 * its way to the client. Node counts a request as answered when the answer has been written whole, although the client
 * may not have taken it: what stood in this process's memory was lost, so a slow reader got a file without its end.
 *
 * Spared connections are idle once their answer has left; whoever closes idle ones for good does so more than once.
 */
export function keepUnsentResponses(server: Server): void {
  const open = new Set<Socket>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const unsent = [...open].filter(({ writableLength }) => writableLength > 0);
    // Which connections are between two requests only Node knows, and it closes them at once, with nothing in between.
    for (const socket of unsent) socket.destroy = () => socket;
    try {
      closeIdle();
    } finally {
      for (const socket of unsent) Reflect.deleteProperty(socket, 'destroy');
    }
  };
}

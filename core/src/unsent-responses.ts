import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/**
 * Makes `server.closeIdleConnections` (which `server.close` also calls) keep connections with an unsent response. Node
 * treats a request as finished once the response is written completely, even if part of it is still in this process's
 * memory. A slow reader would get a truncated file.
 *
 * Such a connection becomes idle when its response is sent, so a shutdown must call `closeIdleConnections` repeatedly.
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
    // Only Node knows which connections are idle, and it closes them synchronously. So `destroy` is replaced meanwhile.
    for (const socket of unsent) socket.destroy = () => socket;
    try {
      closeIdle();
    } finally {
      for (const socket of unsent) Reflect.deleteProperty(socket, 'destroy');
    }
  };
}

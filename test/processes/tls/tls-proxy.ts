import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket, createSecureContext } from 'node:tls';

/** TLS in front of a real server without TLS: Postgres (after its SSLRequest) or Redis. */
export interface TlsProxy {
  port: number;
  /** Connections that completed TLS, and those that did not request it. */
  seen: { secure: number; plain: number };
  close(): Promise<void>;
}

const SSL_REQUEST = 80877103;

export async function startTlsProxy(
  target: URL,
  { cert, key, speaks }: { cert: string; key: string; speaks: 'postgres' | 'redis' },
): Promise<TlsProxy> {
  const secureContext = createSecureContext({ cert, key });
  const sockets = new Set<Socket>();
  const seen = { secure: 0, plain: 0 };
  const keep = <T extends Socket>(socket: T): T => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    return socket;
  };
  const forward = (client: Socket): void => {
    const tls = keep(new TLSSocket(client, { isServer: true, secureContext }));
    tls.once('secure', () => {
      seen.secure += 1;
      const server = keep(connect(Number(target.port), target.hostname));
      tls.pipe(server).pipe(tls);
      tls.on('close', () => server.destroy());
      server.on('close', () => tls.destroy());
    });
  };
  const server = createServer((client) => {
    keep(client);
    if (speaks === 'redis') return forward(client);
    client.once('data', (asked) => {
      if (asked.length !== 8 || asked.readInt32BE(4) !== SSL_REQUEST) {
        seen.plain += 1;
        return void client.destroy();
      }
      client.write('S');
      forward(client);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

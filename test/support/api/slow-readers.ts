import type { Server, Socket } from 'node:net';

/** Clients that send requests and do not read the responses. */
export class SlowReaders {
  readonly #clients: Socket[] = [];

  /** @param client a connected or connecting socket */
  ask(client: Socket, path = '/'): Socket {
    this.#clients.push(client);
    client.on('error', () => undefined);
    client.pause();
    client.write(`GET ${path} HTTP/1.1\r\nHost: gwk\r\n\r\n`);
    return client;
  }

  leave(): void {
    for (const client of this.#clients.splice(0)) client.destroy();
  }
}

/** Counts the open connections of a server. */
export const countConnections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

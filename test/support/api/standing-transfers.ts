import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const BOUNDARY = 'standing';

interface Client {
  port: number;
  /** Address of the client. */
  from?: string;
}

/** Clients that begin an upload or a download and do not continue. */
export class StandingTransfers {
  readonly #sockets: Socket[] = [];

  /** Sends the first bytes of a form, and `bytes` of its file. */
  async upload(apiKey: string, { bytes = 0, ...client }: Client & { bytes?: number }): Promise<Socket> {
    const head = [
      'POST /v1/media HTTP/1.1',
      'Host: gwk',
      `Authorization: Bearer ${apiKey}`,
      `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
      'Content-Length: 60000000',
    ];
    const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
    const socket = await this.#connect(client);
    socket.write(`${head.join('\r\n')}\r\n\r\n${part}`);
    if (bytes > 0) socket.write(Buffer.alloc(bytes, 'a'));
    return socket;
  }

  /** Requests a link and reads nothing. */
  async download(url: string, client: Client & { headers?: string }): Promise<Socket> {
    const { pathname, search } = new URL(url);
    const socket = await this.#connect(client);
    socket.pause();
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: gwk\r\n${client.headers ?? ''}\r\n`);
    return socket;
  }

  leave(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }

  async #connect({ port, from = '127.0.0.1' }: Client): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    this.#sockets.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    return socket;
  }
}

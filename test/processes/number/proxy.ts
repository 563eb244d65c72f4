import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** A path to a server that can be cut: connections end, and none can be made until it is mended. */
export class Path {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #whole = true;

  private constructor(to: { host: string; port: number }) {
    this.#server = createServer((near) => {
      if (!this.#whole) return void near.destroy();
      const far = connect(to.port, to.host);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#open.add(one);
        one.on('error', () => undefined);
        one.on('close', () => {
          this.#open.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  static async to(url: string): Promise<Path> {
    const { hostname: host, port } = new URL(url);
    const path = new Path({ host, port: Number(port) });
    await new Promise<void>((resolve) => path.#server.listen(0, '127.0.0.1', resolve));
    return path;
  }

  /** The same address by this path. */
  url(url: string): string {
    const by = new URL(url);
    by.port = String((this.#server.address() as AddressInfo).port);
    return by.toString().replace(/\/$/, '');
  }

  cut(): void {
    this.#whole = false;
    for (const socket of this.#open) socket.destroy();
  }

  mend(): void {
    this.#whole = true;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

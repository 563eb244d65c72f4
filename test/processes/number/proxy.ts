import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** A proxy to a server. `cut` closes its connections and refuses new ones until `restore`. */
export class CuttableProxy {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #connected = true;

  private constructor(to: { host: string; port: number }) {
    this.#server = createServer((near) => {
      if (!this.#connected) return void near.destroy();
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

  static async to(url: string): Promise<CuttableProxy> {
    const { hostname: host, port } = new URL(url);
    const proxy = new CuttableProxy({ host, port: Number(port) });
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The same URL through this proxy. */
  url(url: string): string {
    const by = new URL(url);
    by.port = String((this.#server.address() as AddressInfo).port);
    return by.toString().replace(/\/$/, '');
  }

  cut(): void {
    this.#connected = false;
    for (const socket of this.#open) socket.destroy();
  }

  restore(): void {
    this.#connected = true;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

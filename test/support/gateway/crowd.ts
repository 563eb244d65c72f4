import { connect, type Socket } from 'node:net';

/** Many connections to one address, as an attacker opens them. */
export class Crowd {
  readonly #sockets: Socket[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  /** Received bytes by connection. */
  readonly answers: string[] = [];
  closed = 0;
  failed = 0;

  private constructor(readonly url: URL) {}

  static to(address: string): Crowd {
    return new Crowd(new URL(address));
  }

  /**
   * Opens `count` more connections, 100 at a time.
   * @returns them once they are open
   */
  async open(count: number, first = ''): Promise<Socket[]> {
    const made: Socket[] = [];
    while (made.length < count) {
      const some = Math.min(100, count - made.length);
      made.push(...(await Promise.all(Array.from({ length: some }, () => this.#connect(first)))));
    }
    return made;
  }

  /** Sends one more piece on each socket at intervals. */
  trickle(sockets: readonly Socket[], piece: string, everyMs: number): void {
    this.#timers.push(
      setInterval(() => {
        for (const socket of sockets) if (socket.writable) socket.write(piece);
      }, everyMs),
    );
  }

  /** Number of open connections. */
  get standing(): number {
    return this.#sockets.length - this.closed;
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(first: string): Promise<Socket> {
    return new Promise((resolve) => {
      const socket = connect({ host: this.url.hostname, port: Number(this.url.port) });
      let said = '';
      this.#sockets.push(socket);
      socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
      socket.on('error', () => this.failed++);
      socket.on('close', () => {
        this.closed++;
        this.answers.push(said);
        resolve(socket);
      });
      socket.on('connect', () => {
        if (first !== '') socket.write(first);
        resolve(socket);
      });
    });
  }
}

import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { encodeCommand, RedisErrorReply, ReplyParser, type Reply } from './resp.js';

export interface RedisAddress {
  /** Without credentials: `redis://host:port/database` or `rediss://`. */
  url: string;
  username: string | null;
  password: string | null;
  /** Certificate authority (PEM) for a rediss:// address; undefined: the public ones. */
  ca?: string | undefined;
}

/** The connection closed. Whether the call took effect is unknown. */
export class RedisDisconnected extends Error {
  override name = 'RedisDisconnected';
}

interface Waiting {
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

const CONNECT_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 5_000;

/** A single connection. It is not reopened after it closes. Calls are pipelined in order. */
export class RedisConnection {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  readonly #waiting: Waiting[] = [];
  readonly closed: Promise<void>;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 10_000);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        for (const call of this.#waiting.splice(0))
          settle(call).reject(new RedisDisconnected('the connection closed'));
        resolve();
      });
    });
  }

  /** @throws RedisDisconnected, RedisErrorReply (for example WRONGPASS) */
  static async open(address: RedisAddress): Promise<RedisConnection> {
    const url = new URL(address.url);
    const connection = new RedisConnection(await openSocket(url, address.ca));
    try {
      if (address.password !== null) {
        const user = address.username === null ? [] : [address.username];
        await connection.call(['AUTH', ...user, address.password]);
      }
      const database = url.pathname.slice(1);
      if (database !== '' && database !== '0') await connection.call(['SELECT', database]);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * @param timeoutMs time after which the connection counts as dead
   * @throws RedisDisconnected, RedisErrorReply
   */
  async call(words: readonly string[], timeoutMs = CALL_TIMEOUT_MS): Promise<Reply> {
    if (this.#isClosed) throw new RedisDisconnected('the connection is closed');
    const reply = await new Promise<Reply>((resolve, reject) => {
      const timer = setTimeout(() => this.#socket.destroy(), timeoutMs);
      this.#waiting.push({ resolve, reject, timer });
      this.#write(encodeCommand(words));
    });
    if (reply instanceof RedisErrorReply) throw reply;
    return reply;
  }

  close(): void {
    // Flush the calls of this turn first.
    this.#socket.uncork();
    this.#socket.destroy();
  }

  /** Writes the calls of one turn together. */
  #write(bytes: ReturnType<typeof encodeCommand>): void {
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    this.#socket.write(bytes);
  }

  #receive(bytes: Buffer): void {
    try {
      for (const reply of this.#parser.push(bytes)) {
        const call = this.#waiting.shift();
        if (call) settle(call).resolve(reply);
      }
    } catch {
      this.#socket.destroy();
    }
  }
}

function settle(call: Waiting): Waiting {
  clearTimeout(call.timer);
  return call;
}

async function openSocket(url: URL, ca: string | undefined): Promise<Socket> {
  const secure = url.protocol === 'rediss:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const target = { host, port: Number(url.port || 6379) };
  const socket = secure
    ? (await import('node:tls')).connect({ ...target, ...servername(host), ...(ca !== undefined && { ca }) })
    : connectTcp(target);
  try {
    const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    await once(socket, secure ? 'secureConnect' : 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw new RedisDisconnected((error as Error).message);
  }
}

/** TLS server names cannot be IP addresses. */
const servername = (host: string): { servername?: string } => (isIP(host) ? {} : { servername: host });

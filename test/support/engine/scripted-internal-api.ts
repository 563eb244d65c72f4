import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CHANNEL_PATH, type ChannelCall } from '@gwk/core/protocol/call-channel';
import { REFUSALS, type Refusal } from '@gwk/core/protocol/refusals';
import type { AcquiredLease } from '@gwk/engine-pod/internal-api/lease';
import { WebSocketServer, type WebSocket } from 'ws';
import { ScriptedQueue } from './scripted-queue.js';

/**
 * A fake internal API that simulates faults: it can be unresponsive or unavailable, lose a reply, answer late, or
 * fence. Everything else is tested against the real one.
 */
export interface Call {
  route: string;
  body: Record<string, unknown>;
  /** performance.now() */
  at: number;
  /** The reply was not lost, held back or refused. */
  answered: boolean;
}

export interface ScriptedInternalApiOptions {
  redis: AcquiredLease['redis'];
  leaseMs?: number;
  renewMs?: number;
  messagesPerMinute?: number;
  /** Fixed port, for a test that takes it down and up again. Default: any free port. */
  port?: number;
}

type Fate = 'answer' | 'lose-reply' | 'hang' | Refusal;
type Fault = (call: Call) => Fate | Promise<Fate>;

export class ScriptedInternalApi {
  readonly queue = new ScriptedQueue();
  readonly calls: Call[] = [];
  readonly instanceId = randomUUID();
  readonly commandKey = Buffer.from('0123456789abcdef0123456789abcdef');
  messagesPerMinute: number;
  /** Stored data besides messages. */
  state: AcquiredLease['instance']['state'] = 'connecting';
  kind: AcquiredLease['instance']['kind'] = 'sandbox';
  pairing: AcquiredLease['pairing'] = null;
  unlink: AcquiredLease['unlink'] = null;
  /** Decides the outcome of a call. */
  fault: Fault = () => 'answer';
  readonly #options: ScriptedInternalApiOptions;
  /** Values of the session store by key. */
  readonly session = new Map<string, string>();
  readonly #server: Server;
  readonly #channels = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  epoch = 0;
  #port: number;

  constructor(options: ScriptedInternalApiOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.messagesPerMinute = options.messagesPerMinute ?? 60_000;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on('upgrade', (request, socket, head) => {
      if (request.url !== CHANNEL_PATH) return socket.destroy();
      this.#channels.handleUpgrade(request, socket, head, (channel) => {
        channel.on('message', (data: Buffer) => {
          this.#answerOn(channel, JSON.parse(data.toString()) as ChannelCall).catch(() =>
            channel.terminate(),
          );
        });
      });
    });
  }

  static async start(options: ScriptedInternalApiOptions): Promise<ScriptedInternalApi> {
    const port = new ScriptedInternalApi(options);
    await port.up();
    return port;
  }

  get redis(): AcquiredLease['redis'] {
    return this.#options.redis;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Accepts connections again, at the same address. */
  async up(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Refuses connections from now on. */
  async down(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cutOff();
    await closed;
  }

  /** Fails the calls in progress. */
  cutOff(): void {
    this.#server.closeAllConnections();
    for (const channel of this.#channels.clients) channel.terminate();
  }

  of(route: string): Call[] {
    return this.calls.filter((call) => call.route === route);
  }

  /** All items that a route accepted, in order. */
  items<T>(route: string, field: string): T[] {
    return this.of(route).flatMap((call) =>
      call.answered ? ((call.body[field] as T[] | undefined) ?? []) : [],
    );
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
    const answer = await this.#decide((request.url ?? '').replace('/engine/', ''), body);
    if (answer === 'hang') return;
    if (answer === 'lose-reply') response.destroy();
    else response.writeHead(answer.status).end(JSON.stringify(answer.body));
  }

  /** A lost reply closes the channel, and so fails the other calls that wait on it. */
  async #answerOn(channel: WebSocket, { id, route, body }: ChannelCall): Promise<void> {
    const answer = await this.#decide(route, body as Record<string, unknown>);
    if (answer === 'hang') return;
    if (answer === 'lose-reply') channel.terminate();
    else channel.send(JSON.stringify({ id, ...answer }));
  }

  async #decide(
    route: string,
    body: Record<string, unknown>,
  ): Promise<'hang' | 'lose-reply' | { status: number; body: unknown }> {
    const call = { route, body, at: performance.now(), answered: false };
    this.calls.push(call);
    const fate = await this.fault(call);
    if (fate === 'hang') return fate;
    if (fate !== 'answer' && fate !== 'lose-reply')
      return { status: REFUSALS[fate], body: { error: fate, retry_after_ms: 300 } };
    const answer = this.#answer(call);
    call.answered = fate === 'answer';
    return fate === 'answer' ? { status: 200, body: answer } : fate;
  }

  #answer({ route, body }: Call): unknown {
    switch (route) {
      case 'acquire':
        return this.#acquired();
      case 'renew':
        return {
          lease_ms: this.#options.leaseMs ?? 45_000,
          messages_per_minute: this.messagesPerMinute,
          pairing: this.pairing,
          unlink: this.unlink,
        };
      case 'pairing':
        return { open: body['session'] === this.pairing?.session };
      case 'claims':
        return { messages: this.queue.claim(String(body['claim_id']), Number(body['limit'])) };
      case 'built':
        return { stored: this.queue.built(body['messages'] as { message_id: string; built: string }[]) };
      case 'outcomes':
        this.queue.conclude(body['outcomes'] as { kind: string; message_id?: string }[]);
        return { waiting: this.queue.waiting };
      case 'session-read':
      case 'session-write':
        return this.#answerSession(body);
      case 'client-version':
        return { version: body['bundled'], target: '/', retry_after_ms: null };
      default:
        return {};
    }
  }

  #answerSession(body: Record<string, unknown>): unknown {
    const entries = (body['entries'] ?? []) as { key: string; value: string | null }[];
    for (const { key, value } of entries) {
      if (value === null) this.session.delete(key);
      else this.session.set(key, value);
    }
    return { entries: [...this.session].map(([key, value]) => ({ type: 'creds', key, value })) };
  }

  #acquired(): AcquiredLease {
    this.epoch += 1;
    return {
      epoch: this.epoch,
      holder: randomUUID(),
      lease_ms: this.#options.leaseMs ?? 45_000,
      renew_ms: this.#options.renewMs ?? 10_000,
      instance: {
        id: this.instanceId,
        kind: this.kind,
        state: this.state,
        first_paired_at: null,
        banned_until: null,
        reconnect_count: 0,
        reconnect_at: null,
      },
      pairing: this.pairing,
      unlink: this.unlink,
      messages_per_minute: this.messagesPerMinute,
      redis: this.#options.redis,
      command_key: this.commandKey.toString('base64'),
    };
  }
}

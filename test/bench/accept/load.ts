import { connect, type Socket } from 'node:net';
import { percentile } from '../shared/statistics.js';
import { Pace } from './pace.js';
import { Traffic, type TrafficOptions, type TrafficRequest } from './traffic.js';

/**
 * The load generator, a separate process. Each connection sends its next request after the previous response, or
 * requests follow a rate. It uses plain sockets, because an HTTP client would take much of the CPU.
 */
export interface LoadOptions extends TrafficOptions {
  port: number;
  connections: number;
  /** Duration of the ramp-up, which is not measured. */
  rampMs: number;
  measureMs: number;
  /** Stops after this number of requests. */
  maxRequests?: number;
  /** Unlimited by default. */
  perSecond?: number;
  /** Also computes the 99th percentile of each window of this length. */
  windowMs?: number;
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  p50: number;
  p99: number;
  slowest: number;
  /** The 99th percentile of each window, in order; of the whole run without `windowMs`. */
  p99OfWindows: number[];
  /** Over the whole run, including the ramp-up. */
  statuses: Record<string, number>;
  /** Responses marked as replays. */
  replayed: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

class Load {
  readonly #options: LoadOptions;
  readonly #traffic: Traffic;
  readonly #pace: Pace;
  /** Connections that wait for their next request. */
  readonly #waiting = new Set<() => void>();
  readonly #statuses: Record<string, number> = {};
  /** Latencies by window. */
  readonly #latencies: number[][] = [];
  #replayed = 0;
  #answered = 0;
  #haveEnough = () => {};
  readonly #enough = new Promise<void>((resolve) => (this.#haveEnough = resolve));
  #measuredFrom: number | undefined;
  #stopping = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#traffic = new Traffic(options);
    this.#pace = new Pace(options.perSecond, performance.now());
  }

  async run(): Promise<LoadResult> {
    const first = this.#traffic.first();
    const next = () => {
      const seeded = first.next();
      return seeded.done ? this.#traffic.next() : seeded.value;
    };
    const { connections, rampMs, measureMs } = this.#options;
    const clients = Array.from({ length: connections }, () => this.#client(next));
    const ticking = setInterval(() => this.#pace.tick(performance.now()), 1);
    await pause(rampMs);
    const began = performance.now();
    this.#measuredFrom = began;
    await Promise.race([pause(measureMs), this.#enough]);
    this.#measuredFrom = undefined;
    const seconds = (performance.now() - began) / 1000;
    this.#stopping = true;
    clearInterval(ticking);
    for (const stop of this.#waiting) stop();
    await Promise.all(clients);
    const sorted = this.#latencies.flat().sort((a, b) => a - b);
    return {
      requests: sorted.length,
      perSecond: sorted.length / seconds,
      p50: sorted[Math.floor(sorted.length * 0.5)] ?? 0,
      p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      slowest: sorted.at(-1) ?? 0,
      p99OfWindows: this.#latencies.map((latencies) => percentile(latencies, 0.99)),
      statuses: this.#statuses,
      replayed: this.#replayed,
    };
  }

  #client(next: () => TrafficRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: this.#options.port, noDelay: true });
      let request: TrafficRequest;
      let sentAt = 0;
      const stop = () => {
        socket.end();
        resolve();
      };
      const goOn = () => {
        if (this.#stopping) return stop();
        this.#waiting.add(stop);
        this.#pace.free(performance.now(), (dueAt) => {
          this.#waiting.delete(stop);
          request = next();
          sentAt = dueAt;
          socket.write(request.bytes);
        });
      };
      onAnswers(socket, (head) => {
        this.#count(head, performance.now() - sentAt);
        this.#traffic.answered(request);
        goOn();
      });
      socket.once('connect', goOn);
      socket.once('error', reject);
      socket.once('close', () =>
        this.#stopping ? resolve() : reject(new Error('the server closed the connection')),
      );
    });
  }

  #count(head: string, latency: number): void {
    const status = head.slice(9, 12);
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    if (head.includes('Idempotent-Replayed')) this.#replayed++;
    if (++this.#answered === this.#options.maxRequests) this.#haveEnough();
    if (this.#measuredFrom === undefined) return;
    const { windowMs = Infinity } = this.#options;
    const window = Math.floor((performance.now() - this.#measuredFrom) / windowMs);
    (this.#latencies[window] ??= []).push(latency);
  }
}

/** Reads one response at a time: its head, once it is complete. */
function onAnswers(socket: Socket, answered: (head: string) => void): void {
  let buffered: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    const end = buffered.indexOf(HEAD_END);
    if (end === -1) return;
    const head = buffered.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (buffered.length < end + HEAD_END.length + length) return;
    buffered = Buffer.alloc(0);
    answered(head);
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const options = JSON.parse(process.argv[2]!) as LoadOptions;
process.stdout.write(`${JSON.stringify(await new Load(options).run())}\n`, () => process.exit());

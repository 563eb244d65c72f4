import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/**
 * Posts texts at an even rate, independent of the responses, so that a slow server gets no easier load. It uses plain
 * sockets, because an HTTP client would take much of the CPU. A separate process, controlled over IPC.
 */
export interface PaceOptions {
  port: number;
  targets: { apiKey: string; instanceId: string }[];
  /**
   * Recipients: `count` phone numbers, each `step` after the previous one, and new ones from `newcomers` on. A phone
   * number is `prefix` and `first` + its index. Instances take turns in them.
   */
  phones: { prefix: string; first: number; count: number; step: number; newcomers: number };
  /** Share of posts to new recipients. */
  newShare: number;
}

/** A number of posts per second, or as many as the connections can make one after the other. */
export type PaceOrder = { seconds: number; name: string } & ({ perSecond: number } | { connections: number });

export interface Paced {
  posted: number;
  statuses: Record<string, number>;
  /** From the due time to the response, in milliseconds. */
  p50: number;
  p99: number;
  perSecond: number;
}

const TICK_MS = 4;
const HEAD_END = Buffer.from('\r\n\r\n');
const options = JSON.parse(process.argv[2]!) as PaceOptions;
const idle: Connection[] = [];

class Connection {
  readonly #socket: Socket;
  #answered: (status: string) => void = () => undefined;
  #buffered: Buffer = Buffer.alloc(0);

  constructor() {
    this.#socket = connect({ host: '127.0.0.1', port: options.port, noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', () => this.#answered('error'));
    this.#socket.on('close', () => this.#answered('error'));
  }

  /** False once the server has closed it, as it does with idle connections. */
  get isOpen(): boolean {
    return this.#socket.writable && !this.#socket.readableEnded;
  }

  ask(bytes: Buffer, answered: (status: string) => void): void {
    this.#answered = (status) => {
      this.#answered = () => undefined;
      answered(status);
    };
    this.#socket.write(bytes);
  }

  #take(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    const end = this.#buffered.indexOf(HEAD_END);
    if (end === -1) return;
    const head = this.#buffered.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#buffered.length < end + HEAD_END.length + length) return;
    this.#buffered = Buffer.alloc(0);
    idle.push(this);
    this.#answered(head.slice(9, 12));
  }
}

const NAMES = ['Ana', 'Bruno', 'Carla', 'Diego', 'Elisa', 'Fábio', 'Gabi', 'Hugo', 'Iara', 'João'];
const NEWS = ['foi confirmado', 'saiu para entrega', 'está a caminho', 'foi faturado', 'aguarda retirada'];
const TIMES = ['hoje', 'amanhã cedo', 'na sexta-feira', 'até as 18h', 'na próxima semana'];
const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;
let newcomers = 0;

function request(name: string): Buffer {
  const { targets, phones, newShare } = options;
  const isNew = Math.random() < newShare;
  const place = isNew
    ? phones.newcomers + newcomers++
    : Math.floor(Math.random() * phones.count) * phones.step;
  const { apiKey, instanceId } = targets[place % targets.length]!;
  const body = JSON.stringify({
    instance_id: instanceId,
    to: `${phones.prefix}${String(phones.first + place)}`,
    type: 'text',
    text: { body: `Olá, ${pick(NAMES)}! ${name}: o seu pedido ${pick(NEWS)} e chega ${pick(TIMES)}.` },
  });
  return Buffer.from(
    `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n` +
      `Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function openConnection(): Connection {
  let connection = idle.pop();
  while (connection && !connection.isOpen) connection = idle.pop();
  return connection ?? new Connection();
}

class Run {
  readonly #latencies: number[] = [];
  readonly #statuses: Record<string, number> = {};
  #posted = 0;
  #under = 0;
  #over = false;
  #done: () => void = () => undefined;

  constructor(readonly order: PaceOrder) {}

  async run(): Promise<Paced> {
    const { order } = this;
    const start = performance.now();
    const done = new Promise<void>((resolve) => (this.#done = resolve));
    if ('perSecond' in order) this.#evenly(order.perSecond, start);
    else for (let n = 0; n < order.connections; n++) this.#again(start + order.seconds * 1000);
    await done;
    const ms = performance.now() - start;
    const sorted = this.#latencies.sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return {
      posted: this.#posted,
      statuses: this.#statuses,
      p50: at(0.5),
      p99: at(0.99),
      perSecond: (this.#posted * 1000) / ms,
    };
  }

  #evenly(perSecond: number, start: number): void {
    const total = Math.round(perSecond * this.order.seconds);
    const dueAt = (number: number) => start + (number * 1000) / perSecond;
    const timer = setInterval(() => {
      while (this.#posted < total && dueAt(this.#posted) <= performance.now())
        this.#post(dueAt(this.#posted));
      if (this.#posted < total) return;
      clearInterval(timer);
      this.#over = true;
      if (this.#under === 0) this.#done();
    }, TICK_MS);
  }

  #again(end: number): void {
    if (performance.now() >= end) {
      this.#over = true;
      if (this.#under === 0) this.#done();
      return;
    }
    this.#post(performance.now(), () => this.#again(end));
  }

  #post(dueAt: number, then: () => void = () => undefined): void {
    this.#posted += 1;
    this.#under += 1;
    const connection = openConnection();
    connection.ask(request(this.order.name), (status) => {
      this.#under -= 1;
      this.#latencies.push(performance.now() - dueAt);
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
      then();
      if (this.#over && this.#under === 0) this.#done();
    });
  }
}

process.on('message', (order: PaceOrder) => {
  new Run(order).run().then(
    (paced) => process.send!(paced),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send!({ ready: true });

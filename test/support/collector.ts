import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { until } from './wait.js';

/** An exported span (OTLP). Times in milliseconds. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  start: number;
  end: number;
  attributes: Record<string, string | number | boolean>;
  events: string[];
}

type Fields = Map<number, (Buffer | bigint)[]>;

/** An OpenTelemetry collector. It accepts OTLP over HTTP as protobuf, and decodes fields by their numbers. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** Raw bodies, for checks that they contain no secret. */
  readonly bodies: Buffer[] = [];
  readonly headers: Record<string, unknown>[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
        const known =
          request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
        if (known) collector.#take(Buffer.concat(chunks), request.headers);
        response.writeHead(known ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end();
      })();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The spans of a trace, once `has` is true of them. */
  trace(traceId: string, has: (spans: CollectedSpan[]) => boolean): Promise<CollectedSpan[]> {
    const seen = () => this.spans.filter((span) => span.traceId === traceId);
    return until(() => has(seen()) && seen(), {
      what: `the trace is complete (${traceId})`,
      everyMs: 100,
    }).catch((error: unknown) => {
      const names = seen().map(({ service, name }) => `${service} ${name}`);
      throw new Error(`spans of the trace: ${names.join(', ')}`, { cause: error });
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(body: Buffer, headers: Record<string, unknown>): void {
    this.bodies.push(body);
    this.headers.push(headers);
    for (const resourceSpans of messages(read(body), 1)) {
      const resource = messages(resourceSpans, 1).flatMap((each) => [attributesOf(each, 1)])[0] ?? {};
      for (const scopeSpans of messages(resourceSpans, 2))
        for (const span of messages(scopeSpans, 2))
          this.spans.push(spanOf(span, String(resource['service.name'])));
    }
  }
}

function spanOf(fields: Fields, service: string): CollectedSpan {
  return {
    service,
    traceId: bytes(fields, 1).toString('hex'),
    spanId: bytes(fields, 2).toString('hex'),
    parentId: bytes(fields, 4).toString('hex'),
    name: bytes(fields, 5).toString('utf8'),
    start: Number(number(fields, 7) / 1_000_000n),
    end: Number(number(fields, 8) / 1_000_000n),
    attributes: attributesOf(fields, 9),
    events: messages(fields, 11).map((event) => bytes(event, 2).toString('utf8')),
  };
}

function attributesOf(fields: Fields, field: number): CollectedSpan['attributes'] {
  return Object.fromEntries(
    messages(fields, field).map((pair) => [bytes(pair, 1).toString('utf8'), valueOf(read(bytes(pair, 2)))]),
  );
}

function valueOf(any: Fields): string | number | boolean {
  if (any.has(1)) return bytes(any, 1).toString('utf8');
  if (any.has(2)) return number(any, 2) === 1n;
  return Number(number(any, 3));
}

const bytes = (fields: Fields, field: number): Buffer =>
  (fields.get(field)?.[0] as Buffer) ?? Buffer.alloc(0);
const number = (fields: Fields, field: number): bigint => (fields.get(field)?.[0] as bigint) ?? 0n;
const messages = (fields: Fields, field: number): Fields[] =>
  ((fields.get(field) ?? []) as Buffer[]).map((each) => read(each));

/** Decodes protobuf fields: a tag, then a varint, eight bytes, or a length and that many bytes. */
function read(buffer: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const [field, wire] = [tag >> 3, tag & 7];
    let value: Buffer | bigint;
    if (wire === 0) value = varint();
    else if (wire === 1) value = buffer.readBigUInt64LE((at += 8) - 8);
    else if (wire === 2) {
      const length = Number(varint());
      value = buffer.subarray(at, (at += length));
    } else if (wire === 5) value = BigInt(buffer.readUInt32LE((at += 4) - 4));
    else throw new Error(`wire type ${wire}`);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

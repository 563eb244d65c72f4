import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** DNS server for tests. It answers A and AAAA queries from a function and records the queries. */
export interface TestDns {
  /** `127.0.0.1:port`, the form that resolvers accept. */
  address: string;
  /** Queries in order: `A name` or `AAAA name`. */
  asked: string[];
  stop(): Promise<void>;
}

/** Null sends no response. An empty list means that the name has no address of that type. */
export type DnsAnswer = (name: string, type: 'A' | 'AAAA', nth: number) => string[] | null;

const TYPES = new Map<number, 'A' | 'AAAA'>([
  [1, 'A'],
  [28, 'AAAA'],
]);
const HEADER_BYTES = 12;

/** @param fixedPort default: any free port */
export async function startTestDns(answer: DnsAnswer, fixedPort = 0): Promise<TestDns> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    const key = `${type ?? 'other'} ${name}`;
    const nth = asked.filter((earlier) => earlier === key).length;
    asked.push(key);
    const addresses = type ? answer(name, type, nth) : [];
    if (addresses) socket.send(reply(query.subarray(0, end), addresses), from.port, from.address);
  });
  socket.bind(fixedPort, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return {
    address: `127.0.0.1:${port}`,
    asked,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(query: Buffer): { name: string; type: 'A' | 'AAAA' | undefined; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: TYPES.get(query.readUInt16BE(at + 1)), end: at + 5 };
}

function reply(question: Buffer, addresses: string[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180, 2); // an answer, recursion available, no error
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map(record)]);
}

function record(address: string): Buffer {
  const data = addressBytes(address);
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  fixed.writeUInt16BE(data.length === 4 ? 1 : 28, 2);
  fixed.writeUInt16BE(1, 4);
  fixed.writeUInt32BE(0, 6);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}

function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const host = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [left = '', right] = host.split('::');
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(left), groups(right ?? '')];
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

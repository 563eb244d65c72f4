import type { ServerResponse } from 'node:http';
import { serve } from '../helper-program.js';
import type { HostileKind } from './hostile.js';

/** Hostile webhook receivers (hostile.ts). Each path has its own behaviour. */
const GIGABYTE = 2 ** 30;
const CHUNK = Buffer.alloc(65_536, 'x');
const BYTE_EVERY_MS = 200;
const LATE_MS = 13_000;

const calls = new Map<string, number>();
let bytesSent = 0;

const BEHAVIOUR: Record<HostileKind, (response: ServerResponse) => void> = {
  silent: () => undefined,
  trickling: (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    const timer = setInterval(() => response.write('x'), BYTE_EVERY_MS);
    response.on('close', () => clearInterval(timer));
  },
  endless: (response) => {
    let sent = 0;
    response.writeHead(200, { 'content-length': String(GIGABYTE) });
    const more = (): void => {
      if (response.destroyed || sent >= GIGABYTE) return;
      sent += CHUNK.length;
      bytesSent += CHUNK.length;
      response.write(CHUNK, more);
    };
    more();
  },
  closing: (response) => response.socket?.destroy(),
  late: (response) => void setTimeout(() => response.writeHead(200).end(), LATE_MS).unref(),
};

serve(
  {
    calls: () => ({ calls: Object.fromEntries(calls), bytesSent }),
  },
  (request, _body, response) => {
    const kind = (request.url ?? '/').slice(1) as HostileKind;
    calls.set(kind, (calls.get(kind) ?? 0) + 1);
    response.on('error', () => undefined);
    BEHAVIOUR[kind](response);
    return Promise.resolve();
  },
);

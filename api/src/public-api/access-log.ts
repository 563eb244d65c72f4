import { writeSync } from 'node:fs';
import { toPublicId } from '@gwk/core/ids';
import type { Caller } from '../accounts/caller.js';
import type { Exchange } from '../http/exchange.js';

/**
 * One JSON line for each answer, with ids, the account's name, and no content: not the path (a phone may stand in it) but
 * the operation. No `pid`: at thousands of lines a second each field is megabytes a minute.
 * Lines of one turn of the event loop are written together; composed here, because a general logger costs several
 * times as much and this is paid for by every message.
 */
export interface LineSink {
  write(lines: string): void;
}

export class AccessLog {
  readonly #base: string;
  readonly #sink: LineSink;
  #lines = '';

  constructor(program: string, sink: LineSink = standardOutput()) {
    this.#base = `"program":${JSON.stringify(program)}`;
    this.#sink = sink;
  }

  add(req: Exchange, status: number, milliseconds: number): void {
    if (this.#lines === '') setImmediate(() => this.flush());
    const { operation, caller, refusal, subject } = req;
    // Request ids come from clients, names of accounts from operators: these need escaping.
    this.#lines +=
      `{"level":"info","time":"${new Date().toISOString()}",${this.#base},"msg":"answered",` +
      `"request_id":${JSON.stringify(req.requestId)},"operation":"${operation?.name ?? 'none'}","status":${status},` +
      `"ms":${milliseconds.toFixed(1)}` +
      (caller
        ? `,"account_name":${JSON.stringify(caller.accountName)},"key_id":"${publicKey(caller)}"`
        : '') +
      (subject === null ? '' : `,"subject":"${subject}"`) +
      (refusal === null ? '' : `,"problem":"${refusal}"`) +
      '}\n';
  }

  flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#sink.write(lines);
  }
}

const publicKey = ({ keyId }: Caller): string => toPublicId('apiKey', keyId);

const STDOUT = 1;

/** Whole lines, in the order of the logger that writes to the same place. */
function standardOutput(): LineSink {
  return {
    write(lines) {
      try {
        writeSync(STDOUT, lines);
      } catch {
        // A reader that is slow or gone (EAGAIN, EPIPE) must not stop requests.
      }
    },
  };
}

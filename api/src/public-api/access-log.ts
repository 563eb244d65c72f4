import { writeSync } from 'node:fs';
import { toPublicId } from '@gwk/core/ids/ids';
import type { Exchange } from '../http/exchange.js';

const STDOUT = 1;

/**
 * Writes one JSON line per answer, with ids and the account's name. It logs the operation instead of the path, because a
 * path may contain a phone number. It omits `pid`: at thousands of lines a second each field is megabytes a minute.
 * It formats the lines itself and writes those of one turn of the event loop together, because a general logger costs
 * several times as much for every message.
 */
export class AccessLog {
  #lines = '';

  constructor(readonly write: (lines: string) => void = (lines) => writeSync(STDOUT, lines)) {}

  add(req: Exchange, status: number, milliseconds: number): void {
    if (this.#lines === '') setImmediate(() => this.flush());
    const { operation, caller, session, refusal, subject } = req;
    // Only these need escaping: clients choose request ids, and operators choose account names.
    this.#lines +=
      `{"level":"info","time":"${new Date().toISOString()}","program":"api","msg":"answered",` +
      `"request_id":${JSON.stringify(req.requestId)},"operation":"${operation?.name ?? 'none'}","status":${status},` +
      `"ms":${milliseconds.toFixed(1)}` +
      (caller ? `,"account_name":${JSON.stringify(caller.accountName)}` : '') +
      (caller?.credential.kind === 'key'
        ? `,"key_id":"${toPublicId('apiKey', caller.credential.id)}"`
        : session === null
          ? ''
          : `,"user_id":"${toPublicId('user', session.userId)}"`) +
      (subject === null ? '' : `,"subject":"${subject}"`) +
      (refusal === null ? '' : `,"problem":"${refusal}"`) +
      '}\n';
  }

  /** Writes whole lines, in order with the logger that writes to the same file descriptor. */
  flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines === '') return;
    try {
      this.write(lines);
    } catch {
      // A slow or closed reader of the log (EAGAIN, EPIPE) must not stop requests.
    }
  }
}

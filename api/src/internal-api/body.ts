import type { IncomingMessage } from 'node:http';
import { LISTENER_LIMITS } from '@gwk/core/http/listener-limits';
import type { z } from 'zod';
import { RefusalError } from '../fencing/refusal.js';
import { readChunks } from '../http/body.js';

/**
 * Reads the JSON body of a call. A body over the limit is refused as soon as it exceeds it, with the connection still open
 * for the answer.
 *
 * @param take called with the size of each chunk before it is buffered; it may throw
 * @throws RefusalError `invalid` for a body that is too large, not UTF-8, not JSON or not of the schema; ClientGone
 */
export async function readBody<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  { maxBytes, take }: { maxBytes: number; take?: (bytes: number) => void },
): Promise<z.output<S>> {
  let size = 0;
  // The listener gives files a longer time.
  const late = setTimeout(() => request.destroy(), LISTENER_LIMITS.requestTimeout);
  const bytes = await readChunks(request, (added) => {
    size += added;
    if (size > maxBytes) throw invalid('the body is too large');
    take?.(added);
  }).finally(() => clearTimeout(late));
  return validate(schema, parseJson(bytes));
}

/** @throws RefusalError `invalid` */
export function validate<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new RefusalError('invalid', { issues: parsed.error.issues.map(describeIssue) });
  return parsed.data;
}

/** Only path and kind: the message of an issue may quote the body. */
function describeIssue({ path, code, message }: z.core.$ZodIssue): { path: string; message: string } {
  return { path: path.join('.'), message: code === 'unrecognized_keys' ? 'unknown fields' : message };
}

/** Removes NUL and lone surrogates, which the network may deliver and Postgres cannot store. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws RefusalError `invalid` */
export function parseJson(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    return UNSTORABLE.test(text) ? JSON.parse(text, storable) : JSON.parse(text);
  } catch {
    throw invalid('the body is not JSON in UTF-8');
  }
}

function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value;
}

function invalid(message: string): RefusalError {
  return new RefusalError('invalid', { issues: [{ path: '', message }] });
}

const MAX_BYTES_OF_CALLER = 12 * 1024 * 1024;
/** Part of it that answers may have. An answer without others always fits: it has at most about 8 MB. */
const MAX_ANSWER_BYTES_OF_CALLER = 4 * 1024 * 1024;

interface Held {
  bytes: number;
  answers: number;
}

/**
 * Limits the bytes of concurrent bodies and unread answers per caller in this process: a compromised engine must not send
 * or ask for many at once. A caller is the instance of the credentials, whatever number of tokens it has.
 */
export class CallBudget {
  readonly #held = new Map<string, Held>();

  constructor(
    readonly maxBytes = MAX_BYTES_OF_CALLER,
    readonly maxAnswerBytes = MAX_ANSWER_BYTES_OF_CALLER,
  ) {}

  /**
   * Tracks one request; `close` releases its bytes, once its answer has left. `take` and `takeAnswer` throw RefusalError
   * `unavailable`: retry when other calls of the caller have finished.
   */
  open(caller: string) {
    const taken: Held = { bytes: 0, answers: 0 };
    const add = (bytes: number, answers: number): void => {
      const held = this.#held.get(caller) ?? { bytes: 0, answers: 0 };
      this.#held.set(caller, { bytes: held.bytes + bytes, answers: held.answers + answers });
      taken.bytes += bytes;
      taken.answers += answers;
    };
    return {
      take: (bytes: number): void => {
        if ((this.#held.get(caller)?.bytes ?? 0) + bytes > this.maxBytes)
          throw new RefusalError('unavailable');
        add(bytes, 0);
      },
      takeAnswer: (bytes: number): void => {
        const { answers } = this.#held.get(caller) ?? { answers: 0 };
        if (answers > 0 && answers + bytes > this.maxAnswerBytes)
          throw new RefusalError('unavailable', { retry_after_ms: 1_000 });
        add(bytes, bytes);
      },
      close: (): void => {
        add(-taken.bytes, -taken.answers);
        if (this.#held.get(caller)!.bytes <= 0) this.#held.delete(caller);
      },
    };
  }

  get callers(): number {
    return this.#held.size;
  }
}

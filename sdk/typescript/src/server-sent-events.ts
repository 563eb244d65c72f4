import { ConnectionError } from './errors.js';

/** One event of a stream. */
export interface StreamEvent {
  /** Id to resume after; only event streams have it. */
  id?: string;
  event: string;
  data: unknown;
}

/** The gateway sends a comment every 15 s. A stream without any for this long has lost its connection. */
const SILENCE_MS = 60_000;

/**
 * Reads server-sent events until the body ends. EventSource cannot send headers.
 * @throws ConnectionError if the body breaks
 */
export async function* readServerSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      // Ends the pending read.
      const timer = setTimeout(() => void reader.cancel().catch(() => undefined), SILENCE_MS);
      const read = reader.read().finally(() => clearTimeout(timer));
      const { done, value } = await read.catch(throwBroken);
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop()!;
      yield* blocks.map(parseBlock).filter((event) => event !== null);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function throwBroken(cause: unknown): never {
  throw new ConnectionError('The stream broke', { cause });
}

/** Returns null for a comment, such as `: ping`. */
function parseBlock(block: string): StreamEvent | null {
  const lines = block.split('\n');
  const read = (field: string): string | undefined =>
    lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2);
  const event = read('event');
  const id = read('id');
  if (event === undefined) return null;
  return { event, data: JSON.parse(read('data') ?? 'null'), ...(id !== undefined && { id }) };
}

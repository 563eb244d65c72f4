import { addHeaders, checkAnswer } from './client';

export interface StreamEvent {
  event: string;
  data: unknown;
}

/**
 * Reads a stream of server-sent events until it ends or the signal aborts. EventSource cannot send headers.
 * @throws ApiError for an error answer
 */
export async function* readStream(
  path: string,
  account: string,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const request = addHeaders(new Request(path, { signal }), account);
  const response = await fetch(request);
  await checkAnswer(response);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const parsed = parseBlock(block);
      if (parsed) yield parsed;
    }
  }
}

/** Returns null for a comment, such as `: ping`. */
function parseBlock(block: string): StreamEvent | null {
  const lines = block.split('\n');
  const read = (field: string): string | undefined =>
    lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2);
  const event = read('event');
  return event === undefined ? null : { event, data: JSON.parse(read('data') ?? 'null') };
}

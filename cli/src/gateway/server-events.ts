/** One event of a stream (text/event-stream). */
export interface ServerEvent {
  event: string;
  id: string | null;
  data: string;
}

/** Parses one block, without the empty line after it. Null: a comment only. */
export function parseBlock(block: string): ServerEvent | null {
  const fields = block.split('\n').flatMap((line) => {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, value: value! }];
  });
  const read = (wanted: string) => fields.filter(({ name }) => name === wanted).map(({ value }) => value);
  const [id = null] = read('id');
  const data = read('data');
  if (id === null && data.length === 0) return null;
  return { event: read('event')[0] ?? 'message', id, data: data.join('\n') };
}

/** `onChunk` runs for comments too. */
export async function* readServerEvents(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void,
): AsyncGenerator<ServerEvent> {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    onChunk();
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event) yield event;
    }
  }
}

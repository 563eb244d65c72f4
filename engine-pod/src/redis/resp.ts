/** The Redis serialization protocol, version 2, as far as an engine uses it (docs/decisions/0033-keep-the-engines-redis-client.md). */
export type Reply = string | number | null | RedisErrorReply | Reply[];

/** An error reply. The connection stays usable. `code` is its first word, for example WRONGPASS or NOGROUP. */
export class RedisErrorReply extends Error {
  override name = 'RedisErrorReply';
  readonly code: string;
  constructor(message: string) {
    super(message);
    this.code = message.split(' ', 1)[0]!;
  }
}

export function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/** The parsed reply and the start of the rest; undefined when the input ends before the reply does. */
type Parsed = { reply: Reply; end: number } | undefined;

const MAX_DEPTH = 8;

export class ReplyParser {
  #input: Buffer = Buffer.alloc(0);

  /**
   * Returns the replies that these bytes complete.
   * @throws Error when the peer does not speak the protocol
   */
  push(bytes: Buffer): Reply[] {
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
    const replies: Reply[] = [];
    let start = 0;
    for (let parsed = parse(this.#input, 0); parsed; parsed = parse(this.#input, start)) {
      replies.push(parsed.reply);
      start = parsed.end;
    }
    this.#input = this.#input.subarray(start);
    return replies;
  }
}

function parse(input: Buffer, start: number, depth = 0): Parsed {
  const lineEnd = input.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const line = input.toString('utf8', start + 1, lineEnd);
  const next = lineEnd + 2;
  switch (input[start]) {
    case 0x2b: // +
      return { reply: line, end: next };
    case 0x2d: // -
      return { reply: new RedisErrorReply(line), end: next };
    case 0x3a: // :
      return { reply: Number(line), end: next };
    case 0x24: // $
      return parseText(input, Number(line), next);
    case 0x2a: // *
      return parseList(input, Number(line), next, depth);
    default:
      throw new Error('not a Redis reply');
  }
}

function parseText(input: Buffer, length: number, start: number): Parsed {
  if (length === -1) return { reply: null, end: start };
  const end = start + length;
  return input.length < end + 2 ? undefined : { reply: input.toString('utf8', start, end), end: end + 2 };
}

function parseList(input: Buffer, length: number, start: number, depth: number): Parsed {
  if (length === -1) return { reply: null, end: start };
  if (depth >= MAX_DEPTH) throw new Error('a Redis reply is nested too deeply');
  const items: Reply[] = [];
  let end = start;
  for (let i = 0; i < length; i++) {
    const item = parse(input, end, depth + 1);
    if (!item) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: items, end };
}

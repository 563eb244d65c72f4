import { encodeCommand, RedisErrorReply, ReplyParser, type Reply } from './resp.js';

const parse = (...chunks: string[]): Reply[] => {
  const parser = new ReplyParser();
  return chunks.flatMap((chunk) => parser.push(Buffer.from(chunk)));
};

test.each<[string, string, Reply[]]>([
  ['a status', '+OK\r\n', ['OK']],
  ['a number', ':-12\r\n', [-12]],
  ['text', '$5\r\nhello\r\n', ['hello']],
  ['text with line breaks in it', '$4\r\n\r\n\r\n\r\n', ['\r\n\r\n']],
  ['text of several bytes a character', '$3\r\n€\r\n', ['€']],
  ['empty text', '$0\r\n\r\n', ['']],
  ['no text', '$-1\r\n', [null]],
  ['no list', '*-1\r\n', [null]],
  ['an empty list', '*0\r\n', [[]]],
  ['a nested list', '*2\r\n*1\r\n$1\r\na\r\n:1\r\n', [[['a'], 1]]],
  ['several replies', '+a\r\n:1\r\n', ['a', 1]],
])('%s', (_case, bytes, replies) => {
  expect(parse(bytes)).toEqual(replies);
});

test('returns an error as a value with its code', () => {
  const [error] = parse('-NOGROUP No such key\r\n');
  expect(error).toBeInstanceOf(RedisErrorReply);
  expect((error as RedisErrorReply).code).toBe('NOGROUP');
});

test('parses the same replies wherever the bytes are split', () => {
  const bytes = '*2\r\n$5\r\nsends\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nm\r\n$2\r\n42\r\n+OK\r\n$-1\r\n';
  for (let at = 1; at < bytes.length; at++) {
    expect(parse(bytes.slice(0, at), bytes.slice(at))).toEqual([
      ['sends', [['1-1', ['m', '42']]]],
      'OK',
      null,
    ]);
  }
});

test('rejects bytes that are not Redis replies', () => {
  expect(() => parse('HTTP/1.1 400 Bad Request\r\n')).toThrow('not a Redis reply');
  expect(() => parse('*1\r\n'.repeat(100))).toThrow('nested too deeply');
});

test('counts bytes of a call, not characters', () => {
  expect(encodeCommand(['SET', 'k', '€'])).toBe('*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n€\r\n');
});

import { Writable } from 'node:stream';
import { createLogger, describeError } from './log.js';

function record(): { lines: string[]; stream: Writable } {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return { lines, stream };
}

test('writes JSON lines with program and level', () => {
  const { lines, stream } = record();
  createLogger('api', 'info', stream).info({ message_id: 'm1' }, 'accepted');
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 'info',
    program: 'api',
    message_id: 'm1',
    msg: 'accepted',
  });
});

test.each([
  ['a body', { body: 'MARK' }],
  ['a nested text', { message: { text: 'MARK' } }],
  ['a header', { headers: { authorization: 'Bearer MARK' } }],
  ['a token', { token: 'MARK' }],
  [
    'an error that quotes its input',
    { err: new Error('Invalid invocation with MARK\n\nconnection refused') },
  ],
])('redacts %s', (_name, fields) => {
  const { lines, stream } = record();
  createLogger('api', 'info', stream).info(fields, 'x');
  expect(lines.join('')).not.toContain('MARK');
});

test('keeps type, code and stack of an error', () => {
  const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  expect(describeError(error)).toMatchObject({ type: 'Error', code: 'ECONNREFUSED', message: 'refused' });
  expect(String(describeError(error)['stack'])).toContain('log.test');
});

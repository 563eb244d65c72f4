import { FileRefused, readMachineFault, ToolNotStarted } from '@gwk/core/decoder/jobs';
import { toRefusal } from './tool.js';

const lack = (code: string) => Object.assign(new Error(code), { code });
const opens = (): void => undefined;

test.each<[string, Error, () => void, object]>([
  ['a file that is refused', new FileRefused('bad'), opens, { refused: 'bad' }],
  ['a program that does not start', new ToolNotStarted('none'), opens, { notRun: 'none' }],
  ['a full disk', lack('ENOSPC'), opens, { notRun: 'the disk is full' }],
  ['no file handles', lack('EMFILE'), opens, { notRun: 'the decoder lacks a resource: EMFILE' }],
  [
    'a file that a library could not open',
    new FileRefused('bad'),
    () => {
      throw lack('ENFILE');
    },
    { notRun: 'the decoder lacks a resource: ENFILE' },
  ],
])('answers for %s', (_, error, open, expected) => {
  expect(toRefusal(error, open)).toEqual(expected);
});

test('every other error is a crash', () => {
  expect(() => toRefusal(new TypeError('bug'), opens)).toThrow('bug');
});

test.each([
  [
    '/tmp/o.jpg: unable to open for write\nsystem error: Too many open files',
    'the decoder lacks file handles',
  ],
  ['file:/tmp/x: Too many open files in system', 'the decoder lacks file handles'],
  ['[out#0] Error writing trailer: No space left on device', 'the disk is full'],
  ['    title           : Too many open files', undefined],
  ['[vost#0:0] x: Cannot allocate memory', undefined],
])('reads %j', (messages, expected) => {
  expect(readMachineFault(messages)?.message).toBe(expected);
});

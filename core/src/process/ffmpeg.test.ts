import { findFault } from './ffmpeg.js';

const output = (libavcodec: string, encoders = ' A....D libopus   libopus Opus') =>
  [
    'ffmpeg version N-1 Copyright (c) 2000-2026 the FFmpeg developers',
    '  libavutil      59. 39.100 / 59. 39.100',
    `  libavcodec     ${libavcodec}.100 / ${libavcodec}.100`,
    'Encoders:',
    encoders,
  ].join('\n');

test.each<[string, string, string | null]>([
  ['7.1', output('61. 19'), null],
  ['5.1', output('59. 37'), null],
  ['6.0 with a small minor version', output('60.  3'), null],
  ['5.0', output('59. 18'), 'it is older than 5.1'],
  ['4.4', output('58.134'), 'it is older than 5.1'],
  ['a build of 2018', output('58. 42'), 'it is older than 5.1'],
  ['another program', 'hello', 'it is older than 5.1'],
  ['7.1 without Opus', output('61. 19', ' A....D aac   AAC'), 'it has no libopus'],
])('judges ffmpeg %s', (_, text, fault) => {
  expect(findFault(text)).toBe(fault);
});

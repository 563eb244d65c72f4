import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { chooseFps, chooseKbps, encodedSize, planFilm, thumbnailSize } from './film-plan.js';
import type { AudioStream, VideoStream } from './probe.js';

const VIDEO: VideoStream = {
  ...{ index: 0, codec: 'h264', profile: 'High', pixels: 'yuv420p', width: 320, height: 240 },
  ...{ aspect: 1, rotation: 0, fps: 25, isHdr: false },
};
const AUDIO: AudioStream = { index: 1, codec: 'aac', rate: 44_100, channels: 2 };
const MP4 = { brand: 'isom', isStreamable: true };
const COPY = { video: 'copy', audio: 'copy' };

test.each<[string, Partial<VideoStream>, Partial<AudioStream> | null, string, typeof MP4 | null, unknown]>([
  ['a right film', {}, {}, 'mov', MP4, null],
  ['a right film without sound', {}, null, 'mov', MP4, null],
  ['full range', { pixels: 'yuvj420p' }, {}, 'mov', MP4, null],
  ['an index at the end', {}, {}, 'mov', { ...MP4, isStreamable: false }, COPY],
  ['QuickTime', {}, {}, 'mov', { ...MP4, brand: 'qt  ' }, COPY],
  ['3GP', {}, {}, 'mov', { ...MP4, brand: '3gp5' }, COPY],
  ['Matroska with H.264', {}, null, 'matroska', null, { video: 'copy', audio: null }],
  ['AVI with H.264', {}, {}, 'avi', null, { video: 'encode', audio: 'encode' }],
  ['sound of another codec', {}, { codec: 'opus' }, 'mov', MP4, { video: 'copy', audio: 'encode' }],
  ['MP3 in MP4', {}, { codec: 'mp3' }, 'mov', MP4, { video: 'copy', audio: 'encode' }],
  ['another codec', { codec: 'hevc', profile: 'Main' }, {}, 'mov', MP4, { video: 'encode', audio: 'copy' }],
  [
    '10 bits',
    { profile: 'High 10', pixels: 'yuv420p10le' },
    {},
    'mov',
    MP4,
    { video: 'encode', audio: 'copy' },
  ],
  ['4:2:2', { profile: 'High 4:2:2', pixels: 'yuv422p' }, {}, 'mov', MP4, { video: 'encode', audio: 'copy' }],
])('%s', (...row) => {
  const [, video, audio, container, layout, expected] = row;
  const probed = { seconds: 1, video: { ...VIDEO, ...video }, audio: audio && { ...AUDIO, ...audio } };
  expect(planFilm(container, probed, layout)).toEqual(expected);
});

test.each([
  [320, 240, 320, 240],
  [321, 241, 320, 240],
  [1920, 1080, 1280, 720],
  [1080, 1920, 720, 1280],
  [1, 1, 2, 2],
  [10_000, 2, 1280, 2],
])('encodes %ix%i as %ix%i', (width, height, wide, high) => {
  expect(encodedSize({ width, height })).toEqual({ width: wide, height: high });
});

test.each([10, 600, 3_600])('a film of %i s fits the size limit', (seconds) => {
  const { video, audio } = chooseKbps(seconds);
  expect(((video + audio) * 1_000 * seconds) / 8).toBeLessThan(MAX_MEDIA_BYTES);
});

test.each([
  [320, 240, 72, 54],
  [240, 320, 72, 96],
  [10, 4_000, 2, 128],
  [4_000, 10, 72, 2],
])('the thumbnail of %ix%i has %ix%i', (width, height, wide, high) => {
  expect(thumbnailSize({ width, height })).toEqual({ width: wide, height: high });
});

test.each<[string, number[], number]>([
  ['the shortest picture', [500, 100, 200], 10],
  ['at most 50', [11, 100], 50],
  ['at least 1', [3_000, 5_000], 1],
  ['200,000 pictures', Array.from({ length: 200_000 }, () => 100), 10],
])('the frame rate of an animation follows from its times: %s', (_, delays, fps) => {
  expect(chooseFps(delays)).toBe(fps);
});

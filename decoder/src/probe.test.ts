import { checkCost, checkDuration, checkPictures, parseBanner, shownSize } from './probe.js';

const banner = (...streams: string[]) =>
  [
    'Input #0, mov,mp4, from x:',
    '  Metadata:',
    '    title           : a',
    '  Duration: 00:01:02.50, start: 0',
    ...streams,
  ].join('\n');
const VIDEO =
  '  Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709, progressive), 320x240 [SAR 1:1 DAR 4:3], 99 kb/s, 25 fps, 25 tbr, 12800 tbn (default)';
const AUDIO =
  '  Stream #0:1[0x2](eng): Audio: aac (LC) (mp4a / 0x6134706D), 44100 Hz, stereo, fltp, 69 kb/s (default)';
const COVER =
  '  Stream #0:2: Video: mjpeg (Baseline), yuvj420p(pc), 90x90 [SAR 1:1 DAR 1:1], 90k tbr (attached pic)';

test('reads the streams of a film', () => {
  expect(parseBanner(banner(VIDEO, AUDIO))).toEqual({
    seconds: 62.5,
    video: {
      ...{ index: 0, codec: 'h264', profile: 'High', pixels: 'yuv420p', width: 320, height: 240 },
      ...{ aspect: 1, rotation: 0, fps: 25, isHdr: false },
    },
    audio: { index: 1, codec: 'aac', rate: 44_100, channels: 2 },
    refusedSize: null,
  });
});

test('ignores covers, and takes the first stream that is none', () => {
  expect(parseBanner(banner(COVER, AUDIO))).toMatchObject({ video: null, audio: { index: 1 } });
  expect(parseBanner(banner(COVER, VIDEO))).toMatchObject({ video: { index: 0 } });
});

test('ignores a stream in the title', () => {
  const forged =
    '    title           : x\n                    :   Stream #0:0: Video: h264 (High), yuv420p, 9x9';
  expect(parseBanner(banner(forged, AUDIO)).video).toBeNull();
});

test.each([
  ['mono', 1],
  ['stereo', 2],
  ['5.1(side)', 6],
  ['1 channels', 1],
  ['4 channels', 4],
])('counts the channels of %s', (layout, channels) => {
  expect(parseBanner(banner(AUDIO.replace('stereo', layout))).audio!.channels).toBe(channels);
});

const side = (name: string, degrees: string) =>
  `${VIDEO}\n    Side data:\n      ${name}: rotation of ${degrees} degrees`;
test.each<[string, string, [number, number]]>([
  ['a flat film', VIDEO, [320, 240]],
  ['an upright film', side('displaymatrix', '-90.00'), [240, 320]],
  ['an upright film of a newer ffmpeg', side('Display Matrix', '90.00'), [240, 320]],
  ['a film upside down', side('displaymatrix', '-180.00'), [320, 240]],
  ['wide pixels', VIDEO.replace('SAR 1:1', 'SAR 2:1'), [640, 240]],
  [
    'wide pixels of an upright film',
    side('displaymatrix', '90.00').replace('SAR 1:1', 'SAR 2:1'),
    [240, 640],
  ],
])('the shown size of %s', (_, stream, [width, height]) => {
  expect(shownSize(parseBanner(banner(stream)).video!)).toEqual({ width, height });
});

test('recognises HDR, and a file without duration', () => {
  const hdr = VIDEO.replace('yuv420p(tv, bt709, progressive)', 'yuv420p10le(tv, bt2020nc/bt2020/smpte2084)');
  const text = banner(hdr).replace('00:01:02.50', 'N/A');
  expect(parseBanner(text)).toMatchObject({ seconds: null, video: { isHdr: true, pixels: 'yuv420p10le' } });
});

test('names the limits', () => {
  const large = parseBanner(banner(VIDEO.replace('320x240', '9000x8000')));
  expect(() => checkPictures(large)).toThrow('the video has 9000x8000 pixels, more than 50,000,000');
  const refused = '[bmp @ 0x1] Picture size 30000x20000 exceeds specified max pixel count 50000000, see it\n';
  const picture = parseBanner(refused + banner());
  expect(() => checkPictures(picture, 'picture')).toThrow('the picture has 30000x20000 pixels');
  const forged = parseBanner(banner(`    title           : ${refused}`));
  expect(() => checkPictures(forged, 'picture')).toThrow('the picture cannot be decoded');
  expect(() => checkPictures(parseBanner(banner(AUDIO)))).toThrow('the file has no video');
  expect(() => checkDuration(3 * 3_600 + 1, 'video')).toThrow('the video is longer than 3 hours');
  expect(() => checkDuration(3_600.4, 'voice')).not.toThrow();
  expect(() => checkDuration(null, 'voice')).not.toThrow();
});

const HOUR = 3_600;
test.each<[string, string, number | null, string | null]>([
  ['an hour of 1080p', 'mov 1920x1080 25 fps', HOUR, null],
  ['three hours of 480p', 'matroska 854x480 30 fps', 3 * HOUR, null],
  [
    'three hours of 1080p',
    'mov 1920x1080 25 fps',
    3 * HOUR,
    'video has 270000 pictures of 1920x1080 pixels, more than 300,000,000,000',
  ],
  ['a minute at a thousand pictures a second', 'avi 7000x7000 1k fps', 60 * 2, 'video has 120000 pictures'],
  ['a film that states no time', 'mov 1920x1080 25 fps', null, null],
  ['an animation of a screen', 'gif 1280x720 10 fps', 100, null],
  [
    'an animation of tiny frames',
    'gif 5000x5000 10 fps',
    2_000,
    'animation has 20000 pictures of 5000x5000 pixels, more than 2,000,000,000',
  ],
])('bounds the stated cost of %s', (_, film, seconds, refusal) => {
  const [container, size, fps] = film.split(' ') as [string, string, string];
  const stream = VIDEO.replace('320x240', size).replace('25 fps', `${fps} fps`);
  const check = () => checkCost(container, parseBanner(banner(stream)).video!, seconds);
  if (refusal === null) expect(check).not.toThrow();
  else expect(check).toThrow(refusal);
});

import { stat, writeFile } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import {
  FileRefused,
  MAX_PIXELS,
  STICKER_SIDE,
  type StickerPlan,
  type ToolAnswer,
} from '@gwk/core/decoder/jobs';
import { readFrames } from './frames.js';
import { openPicture, refuseErrors } from './pictures.js';

const WEBP = 'image/webp';
/** Sizes that the apps show, by their rules for stickers. Larger ones that are WebP already are sent as they are. */
const MAX_BYTES = { still: 100_000, animated: 500_000 } as const;
/** Phones do not load larger ones. */
const MAX_SENT_BYTES = 1_000_000;
const MAX_SECONDS = 10;
const CLEAR = { r: 0, g: 0, b: 0, alpha: 0 };
/** From the best to the smallest. */
const STILL_QUALITIES = [90, 75, 50, 25];
const ANIMATED_QUALITIES = [
  { fps: 15, quality: 70 },
  { fps: 10, quality: 45 },
  { fps: 8, quality: 20 },
];

/** Makes a WebP of 512x512 pixels from any picture or the first 10 s of a film. */
export async function readSticker(input: string, output: string, plan: StickerPlan): Promise<ToolAnswer> {
  if (plan.decoder === 'ffmpeg') return convertFilm(input, output, plan.container);
  const { open, metadata } = await openPicture(input, plan.decoder);
  const { format, width, height, pages = 1 } = metadata;
  const isAnimated = format === 'webp' && pages > 1;
  if (isAnimated && width * height * pages > MAX_PIXELS) {
    throw new FileRefused(
      `the sticker has ${pages} pictures of ${width}x${height} pixels, more than 50,000,000`,
    );
  }
  const isSticker = format === 'webp' && width === STICKER_SIDE && height === STICKER_SIDE;
  if (isSticker && (await stat(input)).size <= MAX_SENT_BYTES) {
    await refuseErrors(open().resize(1).toBuffer());
    return { width, height, animated: isAnimated };
  }
  if (isAnimated) {
    const animation = () => sharp(input, { limitInputPixels: MAX_PIXELS, animated: true });
    return encodeSmallest(output, animation, ANIMATED_QUALITIES, MAX_BYTES.animated);
  }
  return encodeSmallest(output, () => open().rotate().toColourspace('srgb'), STILL, MAX_BYTES.still);
}

const STILL = STILL_QUALITIES.map((quality) => ({ quality }));

async function convertFilm(input: string, output: string, container: string): Promise<ToolAnswer> {
  for (const [at, { fps, quality }] of ANIMATED_QUALITIES.entries()) {
    const { data, width, height, count } = await readFrames(input, container, {
      ...{ side: STICKER_SIDE, fps, seconds: MAX_SECONDS },
    });
    const raw = { width, height: height * count, channels: 4, pageHeight: height } as const;
    const open = () => sharp(data, { raw, limitInputPixels: false, animated: count > 1 });
    const isLast = at === ANIMATED_QUALITIES.length - 1;
    const delay = Array<number>(count).fill(Math.round(1_000 / fps));
    const bytes = await encode(open(), quality, delay);
    if (bytes.length > (isLast ? MAX_SENT_BYTES : MAX_BYTES.animated)) continue;
    await writeFile(output, bytes);
    return describe(count > 1);
  }
  throw new FileRefused('the sticker is too large');
}

async function encodeSmallest(
  output: string,
  open: () => Sharp,
  qualities: readonly { quality: number }[],
  maxBytes: number,
): Promise<ToolAnswer> {
  const { pages = 1 } = await refuseErrors(open().metadata());
  for (const [at, { quality }] of qualities.entries()) {
    const bytes = await encode(open(), quality);
    if (bytes.length > (at === qualities.length - 1 ? MAX_SENT_BYTES : maxBytes)) continue;
    await writeFile(output, bytes);
    return describe(pages > 1);
  }
  throw new FileRefused('the sticker is too large');
}

function encode(picture: Sharp, quality: number, delay?: number[]): Promise<Buffer> {
  const square = picture.resize(STICKER_SIDE, STICKER_SIDE, { fit: 'contain', background: CLEAR });
  return refuseErrors(square.webp({ quality, effort: 2, loop: 0, ...(delay && { delay }) }).toBuffer());
}

const describe = (animated: boolean): ToolAnswer => ({
  ...{ width: STICKER_SIDE, height: STICKER_SIDE, animated },
  ...{ converted: true, mimetype: WEBP },
});

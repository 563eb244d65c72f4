import sharp, { type Sharp } from 'sharp';
import { STICKER_SIDE, THUMBNAIL_WIDTH, type ToolAnswer } from './jobs.js';
import { Refused } from './refused.js';

/** Pictures by sharp: the loaders of these forms and no others (no SVG, no PDF, nothing that reads further files). */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}File`);
const MAX_PIXELS = 50_000_000;
const THUMBNAIL_QUALITY = 50;
const CONVERTED_QUALITY = 88;

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: LOADERS });

function open(input: string): Sharp {
  return sharp(input, { limitInputPixels: MAX_PIXELS, failOn: 'truncated', animated: false });
}

async function thumbnailOf(input: string): Promise<string> {
  const small = open(input)
    .rotate()
    .resize({ width: THUMBNAIL_WIDTH, withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: THUMBNAIL_QUALITY });
  return (await small.toBuffer()).toString('base64');
}

/** `keep`: phones show the form as it is. Otherwise it becomes a JPEG; of what moves, the first picture. */
export async function readImage(input: string, output: string, keep: boolean): Promise<ToolAnswer> {
  const { autoOrient } = await metadata(input);
  // A picture is decoded to its end for its thumbnail: one that is cut off fails here.
  const thumbnail = await refusing(thumbnailOf(input));
  const seen = { width: autoOrient.width, height: autoOrient.height, thumbnail };
  if (keep) return seen;
  const jpeg = open(input).rotate().flatten({ background: '#ffffff' }).jpeg({ quality: CONVERTED_QUALITY });
  await refusing(jpeg.toFile(output));
  return { ...seen, converted: true };
}

export async function readThumbnail(input: string): Promise<ToolAnswer> {
  return { thumbnail: await refusing(thumbnailOf(input)) };
}

export async function readSticker(input: string): Promise<ToolAnswer> {
  const { format, width, height, pages = 1 } = await metadata(input);
  if (format !== 'webp') throw new Refused('a sticker is WebP');
  if (width !== STICKER_SIDE || height !== STICKER_SIDE) throw new Refused('a sticker has 512x512 pixels');
  await refusing(thumbnailOf(input));
  return { width, height, animated: pages > 1 };
}

const metadata = (input: string) => refusing(open(input).metadata());

/** What libvips says may quote the file: it goes no further. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  return work.catch(() => {
    throw new Refused('the picture cannot be decoded');
  });
}

import sharp, { type Sharp } from 'sharp';
import { FileRefused, STICKER_SIDE, THUMBNAIL_WIDTH, type ToolAnswer } from './jobs.js';

/** The only image loaders of sharp that are allowed: no SVG, no PDF, no format that reads other files. */
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

async function makeThumbnail(input: string): Promise<string> {
  const small = open(input)
    .rotate()
    .resize({ width: THUMBNAIL_WIDTH, withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: THUMBNAIL_QUALITY });
  return (await small.toBuffer()).toString('base64');
}

/** Checks a picture. Without `keep`, converts it to JPEG; of an animation, the first frame. */
export async function readImage(input: string, output: string, keep: boolean): Promise<ToolAnswer> {
  const { autoOrient } = await readMetadata(input);
  // Making the thumbnail decodes the whole picture, so a truncated one fails here.
  const thumbnail = await refuseErrors(makeThumbnail(input));
  const metadata = { width: autoOrient.width, height: autoOrient.height, thumbnail };
  if (keep) return metadata;
  const jpeg = open(input).rotate().flatten({ background: '#ffffff' }).jpeg({ quality: CONVERTED_QUALITY });
  await refuseErrors(jpeg.toFile(output));
  return { ...metadata, converted: true };
}

export async function readThumbnail(input: string): Promise<ToolAnswer> {
  return { thumbnail: await refuseErrors(makeThumbnail(input)) };
}

export async function readSticker(input: string): Promise<ToolAnswer> {
  const { format, width, height, pages = 1 } = await readMetadata(input);
  if (format !== 'webp') throw new FileRefused('a sticker must be WebP');
  if (width !== STICKER_SIDE || height !== STICKER_SIDE)
    throw new FileRefused('a sticker must have 512x512 pixels');
  await refuseErrors(makeThumbnail(input));
  return { width, height, animated: pages > 1 };
}

const readMetadata = (input: string) => refuseErrors(open(input).metadata());

/** Hides the message of libvips, which may quote the file. */
async function refuseErrors<T>(work: Promise<T>): Promise<T> {
  return work.catch(() => {
    throw new FileRefused('the picture cannot be decoded');
  });
}

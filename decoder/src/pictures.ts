import { readFile } from 'node:fs/promises';
import { isMachineFault } from '@gwk/core/process/machine-fault';
import sharp, { type Metadata, type ResizeOptions, type Sharp, type SharpOptions } from 'sharp';
import {
  FileRefused,
  MAX_PIXELS,
  PREVIEW_SIDES,
  readMachineFault,
  STANDARD_SIDE,
  THUMBNAIL_WIDTH,
  ToolNotStarted,
  type PictureDecoder,
  type ToolAnswer,
} from '@gwk/core/decoder/jobs';
import { readFrames } from './frames.js';

/** The only image loaders of sharp that are allowed: no SVG, no PDF, no format that reads other files. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}File`);
const THUMBNAIL_QUALITY = 50;
const CONVERTED_QUALITY = 90;
const PREVIEW_QUALITY = 80;
export const WHITE = '#ffffff';

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: LOADERS });

const OPTIONS: SharpOptions = { limitInputPixels: MAX_PIXELS, failOn: 'truncated', animated: false };

export interface Picture {
  open: () => Sharp;
  metadata: Metadata;
}

/** Opens a picture and checks its size. @throws FileRefused */
export async function openPicture(input: string, decoder: PictureDecoder): Promise<Picture> {
  const open = await refuseErrors(findOpener(input, decoder));
  const metadata = await refuseErrors(open().metadata());
  checkPixels(metadata);
  return { open, metadata };
}

async function findOpener(input: string, decoder: PictureDecoder): Promise<() => Sharp> {
  if (decoder === 'sharp') {
    // The size is checked by its own words.
    const metadata = await sharp(input, { ...OPTIONS, limitInputPixels: false }).metadata();
    checkPixels(metadata);
    // The missing end of a TIFF counts as an error of its content.
    return () => sharp(input, metadata.format === 'tiff' ? { ...OPTIONS, failOn: 'error' } : OPTIONS);
  }
  const { data, width, height } =
    decoder === 'heic' ? await readHeic(input) : await readFrames(input, 'bmp_pipe', null);
  return () => sharp(data, { ...OPTIONS, raw: { width, height, channels: 4 } });
}

/** Pictures of phones: the codec is in WebAssembly, because sharp has none for patent reasons. */
async function readHeic(input: string) {
  const { default: decode } = await import('heic-decode');
  const [first] = await decode.all({ buffer: await readFile(input) });
  // Its types lack the size.
  checkPixels(first as typeof first & { width: number; height: number });
  return first!.decode();
}

function checkPixels({ width, height }: { width: number; height: number }): void {
  if (width * height <= MAX_PIXELS) return;
  throw new FileRefused(`the picture has ${width}x${height} pixels, more than 50,000,000`);
}

const shrink = (picture: Sharp, size: ResizeOptions, quality: number): Sharp =>
  picture
    .rotate()
    .resize({ ...size, withoutEnlargement: true })
    .flatten({ background: WHITE })
    .toColourspace('srgb')
    .jpeg({ quality });

async function makeThumbnail(
  picture: Sharp,
  size: ResizeOptions = { width: THUMBNAIL_WIDTH },
): Promise<string> {
  return (await shrink(picture, size, THUMBNAIL_QUALITY).toBuffer()).toString('base64');
}

/**
 * Checks a picture, and converts it to JPEG unless phones show it as it is. It reads the first frame of an animation.
 * @param plan `small`: a picture of more than the standard size is shrunk
 */
export async function readImage(
  input: string,
  output: string,
  { decoder, small = false }: { decoder: PictureDecoder; small?: boolean },
): Promise<ToolAnswer> {
  const { open, metadata } = await openPicture(input, decoder);
  const shown = metadata.autoOrient;
  const isShrunk = small && Math.max(shown.width, shown.height) > STANDARD_SIDE;
  // Making the thumbnail decodes the whole picture, so a truncated one fails here.
  const thumbnail = await refuseErrors(makeThumbnail(open()));
  if (!isShrunk && decoder === 'sharp' && isShown(metadata))
    return { width: shown.width, height: shown.height, thumbnail };
  const jpeg = shrink(open(), isShrunk ? fitInside(STANDARD_SIDE) : {}, CONVERTED_QUALITY);
  const { width, height } = await refuseErrors(jpeg.toFile(output));
  return { width, height, thumbnail, converted: true, mimetype: 'image/jpeg' };
}

/** JPEG or PNG as all phones show it, without places and camera data. */
export function isShown({ format, space, hasAlpha, depth, exif, xmp, iptc }: Metadata): boolean {
  const isPlain =
    (format === 'jpeg' || format === 'png') && space !== 'cmyk' && !hasAlpha && depth === 'uchar';
  return isPlain && !exif && !xmp && !iptc;
}

export async function readThumbnail(input: string): Promise<ToolAnswer> {
  const { open } = await openPicture(input, 'sharp');
  return { thumbnail: await refuseErrors(makeThumbnail(open())) };
}

/** Phones show the small picture until they have fetched the large one. */
export async function readPreviewPicture(input: string, output: string): Promise<ToolAnswer> {
  const { open, metadata } = await openPicture(input, 'sharp');
  const { small, large } = PREVIEW_SIDES;
  const thumbnail = await refuseErrors(makeThumbnail(open(), fitInside(small)));
  if (Math.max(metadata.width, metadata.height) <= small) return { thumbnail };
  const picture = shrink(open(), fitInside(large), PREVIEW_QUALITY);
  const { width, height } = await refuseErrors(picture.toFile(output));
  return { width, height, thumbnail, converted: true, mimetype: 'image/jpeg' };
}

const fitInside = (side: number): ResizeOptions => ({ width: side, height: side, fit: 'inside' });

/** Hides the message of libvips, which may quote the file. */
export async function refuseErrors<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: Error) => {
    if (error instanceof FileRefused || error instanceof ToolNotStarted || isMachineFault(error)) throw error;
    throw readMachineFault(error.message) ?? new FileRefused('the picture cannot be decoded');
  });
}

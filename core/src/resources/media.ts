import { z } from 'zod';
import { idOut, text } from './common.js';

export * from './media-sizes.js';

export const MAX_FILENAME = 255;
export const MEDIA_DAYS = 30;
/** Validity of the link in a response. */
export const LINK_SECONDS = 3_600;

/** The parts of an upload (multipart/form-data). The API streams `file`. */
export const MediaUpload = z.object({
  file: z.any().meta({ type: 'string', format: 'binary' }),
  filename: text(0, MAX_FILENAME).optional(),
});

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export const MediaOut = z.object({
  id: idOut('media'),
  mimetype: z.string(),
  size: z.int().min(1),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ examples: [EMPTY_SHA256] }),
  filename: z.string().nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  url: z.url().nullable(),
});
export type MediaOut = z.infer<typeof MediaOut>;

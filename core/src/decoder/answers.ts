import { z } from 'zod';
import { FileRefused, RESULT_TYPES, WAVEFORM_POINTS, type ToolAnswer, type ToolRefusal } from './jobs.js';

export const MAX_ANSWER_BYTES = 200_000;
const MAX_SIDE = 1_000_000;
const MAX_SECONDS = 1_000_000;
const MAX_TEXT = 4_096;

const side = z.int().min(1).max(MAX_SIDE);
const text = z.string().max(MAX_TEXT).nullable();
const answerSchema = z.strictObject({
  width: side.exactOptional(),
  height: side.exactOptional(),
  animated: z.boolean().exactOptional(),
  duration_s: z.int().min(1).max(MAX_SECONDS).exactOptional(),
  waveform: z
    .base64()
    .refine((points) => Buffer.from(points, 'base64').length === WAVEFORM_POINTS)
    .exactOptional(),
  thumbnail: z.base64().exactOptional(),
  page: z.strictObject({ title: text, description: text, image: text }).exactOptional(),
  converted: z.boolean().exactOptional(),
  mimetype: z.enum(RESULT_TYPES).exactOptional(),
  gif: z.boolean().exactOptional(),
});
/** Shown to the consumer: words only, whatever a file made of the decoder. */
const reason = z.string().regex(/^[\w ,':-]{1,100}$/);
const schema = z.union([
  answerSchema,
  z.strictObject({ refused: reason }),
  z.strictObject({ notRun: reason }),
]);

/**
 * Reads the answer of a process that a hostile file may control.
 * @throws FileRefused, if it is no answer
 */
export function parseToolAnswer(json: string): ToolAnswer | ToolRefusal {
  try {
    return schema.parse(JSON.parse(json));
  } catch {
    throw new FileRefused('the file cannot be decoded');
  }
}

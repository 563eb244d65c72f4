import { z } from 'zod';
import { MAX_CHARSET, PICTURE_DECODERS, type ToolPlan } from './jobs.js';

/**
 * `POST /jobs` on the socket of a decoder: the plan in a header, the file as the body. The answer has the length of the
 * answer of the job in a header. Its body is that answer as JSON, then the file that the job has written.
 */
export const JOBS_PATH = '/jobs';
export const JOB_HEADER = 'gwk-job';
export const ANSWER_BYTES_HEADER = 'gwk-answer-bytes';
/** `GET`, for the probe of the chart and the worker. */
export const LIVENESS_PATH = '/livez';

const container = z.string().regex(/^[a-z0-9_]{1,30}$/);
const decoder = z.enum(PICTURE_DECODERS);
const yes = z.literal(true).exactOptional();
const planSchema: z.ZodType<ToolPlan> = z.union([
  z.strictObject({ tool: z.literal('image'), decoder, small: yes }),
  z.strictObject({ tool: z.literal('gif'), small: yes }),
  z.strictObject({ tool: z.literal('thumbnail') }),
  z.strictObject({ tool: z.literal('webp'), film: z.boolean(), small: yes }),
  z.strictObject({ tool: z.literal('page'), charset: z.string().max(MAX_CHARSET).nullable() }),
  z.strictObject({ tool: z.literal('sticker'), decoder }),
  z.strictObject({ tool: z.literal('sticker'), decoder: z.literal('ffmpeg'), container }),
  z.strictObject({ tool: z.literal('video'), container, round: yes }),
  z.strictObject({ tool: z.literal('audio'), container, voice: z.boolean(), film: z.boolean() }),
]);
export const requestSchema = z.strictObject({
  plan: planSchema,
  /** Id of the message, for the log. */
  message: z.uuid().exactOptional(),
  limits: z.strictObject({ timeMs: z.int().min(1), memoryMb: z.int().min(1) }),
});
export type DecoderRequest = z.infer<typeof requestSchema>;

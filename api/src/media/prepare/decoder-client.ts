import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { get, request, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { MAX_ANSWER_BYTES, parseToolAnswer } from '@gwk/core/decoder/answers';
import {
  ANSWER_BYTES_HEADER,
  JOB_HEADER,
  JOBS_PATH,
  LIVENESS_PATH,
  type DecoderRequest,
} from '@gwk/core/decoder/protocol';
import {
  FileRefused,
  ToolNotStarted,
  type JobLimits,
  type ToolAnswer,
  type ToolJob,
  type ToolPlan,
  type ToolRefusal,
} from '@gwk/core/decoder/jobs';
import type { RunJob } from './tools.js';

/** Time for the transfers beside the job. */
const TRANSFER_MS = 30_000;

/**
 * Runs jobs in a decoder, a program of its own. It decodes hostile files, so its answers are checked: lengths, schema and
 * size.
 */
export function decoderJobs(socketPath: string, limitsFor: (plan: ToolPlan) => JobLimits): RunJob {
  return async ({ input, output, message, ...plan }: ToolJob, _folder, signal, onDecoding) => {
    const limits = limitsFor(plan);
    const timeout = AbortSignal.timeout(limits.timeMs + TRANSFER_MS);
    try {
      const asked: DecoderRequest = { plan, limits, ...(message !== undefined && { message }) };
      const headers = { [JOB_HEADER]: JSON.stringify(asked) };
      // A connection for each job: a kept one may be that of a decoder that has ended.
      const options = { socketPath, path: JOBS_PATH, method: 'POST', headers, agent: false } as const;
      const sent = request({ ...options, signal: AbortSignal.any([signal, timeout]) });
      const answered = new Promise<IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve).once('error', reject);
      });
      // A decoder that ends while it reads also fails the answer, which reports it.
      const [response] = await Promise.all([
        answered,
        pipeline(createReadStream(input), sent).then(onDecoding),
      ]);
      return await readAnswer(response, output);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FileRefused) throw error;
      throw new ToolNotStarted('the decoder is unavailable', { cause: error });
    }
  };
}

/** Whether the decoder answers within this time. */
export function isDecoderAlive(socketPath: string, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { socketPath, path: LIVENESS_PATH, agent: false, signal: AbortSignal.timeout(limitMs) };
    get(options, (response) => {
      response.destroy();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

async function readAnswer(response: IncomingMessage, output: string): Promise<ToolAnswer | ToolRefusal> {
  const answerBytes = Number(response.headers[ANSWER_BYTES_HEADER]);
  if (response.statusCode !== 200 || !(answerBytes <= MAX_ANSWER_BYTES)) {
    response.destroy();
    throw new FileRefused(UNDECODABLE);
  }
  let text = Buffer.alloc(0);
  let written = 0;
  // Over the part that an interrupted run has written.
  await using file = await open(output, 'w', 0o600);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const taken = Math.min(answerBytes - text.length, chunk.length);
    if (taken > 0) text = Buffer.concat([text, chunk.subarray(0, taken)]);
    written += chunk.length - taken;
    if (written > MAX_MEDIA_BYTES) throw new FileRefused(UNDECODABLE);
    if (taken < chunk.length) await file.writeFile(chunk.subarray(taken));
  }
  return parseToolAnswer(text.toString());
}

const UNDECODABLE = 'the file cannot be decoded';

import { createWriteStream } from 'node:fs';
import { chmod, rm, type FileHandle } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { once } from 'node:events';
import type { Logger } from '@gwk/core/process/log';
import {
  ANSWER_BYTES_HEADER,
  JOB_HEADER,
  JOBS_PATH,
  LIVENESS_PATH,
  requestSchema,
} from '@gwk/core/decoder/protocol';
import { makeJobFolder } from '@gwk/core/decoder/job-folder';
import { runJobProcess, type JobPrograms } from './job-process.js';
import {
  FileRefused,
  ToolNotStarted,
  type ToolAnswer,
  type ToolJob,
  type ToolRefusal,
} from '@gwk/core/decoder/jobs';
import { openOutput } from '@gwk/core/decoder/output';

const LACKING = 'the decoder lacks file handles, memory or disk space';

interface DecoderOptions extends JobPrograms {
  /** Path of the socket. */
  socket: string;
  /** Parent of the folders of jobs. */
  folder: string;
  log: Logger;
}

/** Runs the jobs of a worker that connects to the socket. A job ends with its connection. */
export async function startDecoderServer(options: DecoderOptions): Promise<Server> {
  const server = createServer((req, res) => {
    serve(req, res, options).catch((error: unknown) => {
      if (!res.closed) options.log.warn({ err: error }, 'decoding failed');
      res.destroy();
    });
  });
  // A process that was killed leaves its socket.
  await rm(options.socket, { force: true });
  server.listen(options.socket);
  await once(server, 'listening');
  // The worker has another user. The folder of the socket is reachable to it alone.
  await chmod(options.socket, 0o666);
  return server;
}

async function serve(req: IncomingMessage, res: ServerResponse, options: DecoderOptions): Promise<void> {
  if (req.url === LIVENESS_PATH) return void res.writeHead(200).end();
  if (req.method !== 'POST' || req.url !== JOBS_PATH) return void res.writeHead(404).end();
  const { plan, limits, message } = requestSchema.parse(JSON.parse(String(req.headers[JOB_HEADER])));
  const ended = new AbortController();
  res.once('close', () => ended.abort(new Error('the worker has closed the connection')));
  const folder = await makeJobFolder(options.folder, 'decoder');
  const [input, output] = [join(folder, 'input'), join(folder, 'output')];
  try {
    await pipeline(req, createWriteStream(input, { mode: 0o600 }));
    const job = { ...plan, input, output, ...(message !== undefined && { message }) };
    const answer = await describe(runJobProcess(job, folder, ended.signal, { ...limits, ...options }));
    await send(res, answer, job);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Refusals become answers. Other errors close the connection, and the worker tries again. */
async function describe(work: Promise<ToolAnswer | ToolRefusal>): Promise<ToolAnswer | ToolRefusal> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof FileRefused) return { refused: error.message };
    if (error instanceof ToolNotStarted) return { notRun: error.message };
    throw error;
  }
}

async function send(
  res: ServerResponse,
  answer: ToolAnswer | ToolRefusal,
  { output }: ToolJob,
): Promise<void> {
  let written: FileHandle | undefined;
  let said = answer;
  if ('converted' in answer && answer.converted) {
    try {
      written = await openOutput(output);
    } catch (error) {
      said = error instanceof FileRefused ? { refused: error.message } : { notRun: LACKING };
    }
  }
  const text = Buffer.from(JSON.stringify(said));
  res.writeHead(200, { [ANSWER_BYTES_HEADER]: text.length });
  res.write(text);
  if (written) await pipeline(written.createReadStream(), res);
  else res.end();
}

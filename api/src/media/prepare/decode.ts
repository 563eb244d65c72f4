import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeJobFolder } from '@gwk/core/decoder/job-folder';
import type { ToolAnswer, ToolPlan } from '@gwk/core/decoder/jobs';
import type { Tools } from './tools.js';
import type { DecoderQueue } from './decoder-queue.js';

export interface DecodeDeps {
  tools: Pick<Tools, 'run'>;
  decoders: Pick<DecoderQueue, 'run'>;
  /** Parent of the folders for decrypted files. It is created again if a cleaner of temporary folders has deleted it. */
  folder: string;
  /** Account that the time of the decoder counts for. */
  accountId: string;
  /** Id of the message, for the log. */
  message?: string;
  signal: AbortSignal;
}

export interface DecodeSource {
  open: () => Promise<AsyncIterable<Buffer>>;
  /** A host of strangers may be slow, so its file is read before the decoder is granted. */
  isRemote: boolean;
}

/**
 * Runs a tool on a file, in a folder of its own.
 * @param use gets the answer, and the path of the file that the tool has written
 * @throws errors of the source and of `Tools.run`
 */
export async function decodeFile<T>(
  { open, isRemote }: DecodeSource,
  plan: ToolPlan,
  { tools, decoders, folder: parent, accountId, message, signal }: DecodeDeps,
  use: (answer: ToolAnswer, output: string) => T | Promise<T>,
): Promise<T> {
  const folder = await makeJobFolder(parent, 'worker');
  try {
    const [input, output] = [join(folder, 'input'), join(folder, 'output')];
    const copy = async (until: AbortSignal) =>
      pipeline(await open(), createWriteStream(input, { mode: 0o600 }), { signal: until });
    if (isRemote) await copy(signal);
    const answer = await decoders.run(accountId, signal, async (until, onDecoding) => {
      if (!isRemote) await copy(until);
      const job = { ...plan, input, output, ...(message !== undefined && { message }) };
      return tools.run(job, folder, until, onDecoding);
    });
    return await use(answer, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

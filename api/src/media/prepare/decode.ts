import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ToolAnswer, ToolPlan } from '../tools/jobs.js';
import type { Tools } from '../tools/run.js';

export interface DecodeDeps {
  tools: Pick<Tools, 'run'>;
  /** Parent of the folders for decrypted files. It is created again if a cleaner of temporary folders has deleted it. */
  folder: string;
  signal: AbortSignal;
}

/**
 * Runs a tool on a file, in a folder of its own.
 * @param use gets the answer, and the path of the file that the tool has written
 * @throws errors of the source and of `Tools.run`
 */
export async function decodeFile<T>(
  open: () => Promise<AsyncIterable<Buffer>>,
  plan: ToolPlan,
  { tools, folder: parent, signal }: DecodeDeps,
  use: (answer: ToolAnswer, output: string) => T | Promise<T>,
): Promise<T> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, 'job-'));
  try {
    const [input, output] = [join(folder, 'input'), join(folder, 'output')];
    await pipeline(await open(), createWriteStream(input, { mode: 0o600 }), { signal });
    return await use(await tools.run({ ...plan, input, output }, folder, signal), output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

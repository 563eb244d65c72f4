import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { MAX_MEDIA_BYTES } from '../resources/media.js';
import { isMachineFault } from '../process/machine-fault.js';
import { FileRefused } from './jobs.js';

/**
 * Opens the file that a job has written. A hostile file may have made it a link to another file, a pipe that never ends, or
 * too large.
 * @throws FileRefused; a fault of this machine
 */
export async function openOutput(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const refuse = () => new FileRefused('the file cannot be decoded');
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    throw isMachineFault(error) ? error : refuse();
  });
  const stat = await file.stat();
  // A second name could be that of a file that only the reader may read.
  if (stat.isFile() && stat.nlink === 1 && stat.size <= MAX_MEDIA_BYTES) return file;
  await file.close();
  throw refuse();
}

import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Opens a temporary file without a name, which disappears with this process. */
export async function openSpool(): Promise<Spool> {
  const path = join(tmpdir(), `gwk-spool-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return new Spool(file);
}

/** A temporary file for encrypted bytes on their way to a bucket. */
export class Spool {
  constructor(private readonly file: FileHandle) {}

  /** Writes the source to its end. @returns the number of bytes */
  async fill(source: AsyncIterable<Buffer>): Promise<number> {
    await this.file.writeFile(source);
    return (await this.file.stat()).size;
  }

  /** Reads into the buffer. @returns the part of the buffer that holds the bytes */
  async read(buffer: Buffer, position: number, length: number): Promise<Buffer> {
    for (let read = 0; read < length;) {
      const { bytesRead } = await this.file.read(buffer, read, length - read, position + read);
      if (bytesRead === 0) throw new Error('a temporary file is shorter than it was written');
      read += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

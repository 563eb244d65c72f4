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

/** A temporary file for a part of encrypted bytes on their way to a bucket. */
export class Spool {
  size = 0;

  constructor(private readonly file: FileHandle) {}

  async append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at, this.size);
      at += bytesWritten;
      this.size += bytesWritten;
    }
  }

  /** Moves its content into the buffer. The next part overwrites the file. @returns the part of the buffer that holds it */
  async take(buffer: Buffer): Promise<Buffer> {
    const { size } = this;
    for (let read = 0; read < size;) {
      const { bytesRead } = await this.file.read(buffer, read, size - read, read);
      if (bytesRead === 0) throw new Error('a temporary file is shorter than it was written');
      read += bytesRead;
    }
    this.size = 0;
    return buffer.subarray(0, size);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

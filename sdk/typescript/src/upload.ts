import { newUuid } from './uuid.js';

type BlobSource = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | { path: string };

/**
 * A file to upload: bytes, a Blob or File, a stream, or on Node, Deno and Bun the path of a file. A stream is sent as it
 * comes, so the call is not repeated. Of browsers only Chromium sends streams, over HTTP/2.
 */
export type FileSource = BlobSource | ReadableStream<Uint8Array>;

export interface Upload {
  file: FileSource;
  /** Name of the file; default: that of the File or path. */
  filename?: string;
}

/** How a call sends its body. */
export interface SentBody {
  /** Made again for each attempt. */
  body: () => unknown;
  headers?: Record<string, string>;
  /** The body can be read only once. */
  isSentOnce?: boolean;
}

/**
 * Describes how a call sends a file. A path is read from the disk at each attempt. A stream can be read only once: its
 * bytes are sent as they come.
 */
export function describeUpload({ file, filename }: Upload): SentBody {
  const name = filename ?? findName(file);
  if (!(file instanceof ReadableStream)) return { body: () => createForm(file, name) };
  const boundary = `gwk-${newUuid()}`;
  const body = frame(file, name, boundary);
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
  return { body: () => body, headers, isSentOnce: true };
}

async function createForm(file: BlobSource, name: string | undefined): Promise<FormData> {
  const form = new FormData();
  form.append('file', await toBlob(file), name ?? 'file');
  if (name !== undefined) form.append('filename', name);
  return form;
}

/** Puts the parts of a form around a stream. */
function frame(
  file: ReadableStream<Uint8Array>,
  name: string | undefined,
  boundary: string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const start = (fields: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${fields}\r\n`;
  const quoted = (name ?? 'file').replace(/["\r\n]/g, encodeURIComponent);
  const head = `${start(`name="file"; filename="${quoted}"`)}Content-Type: application/octet-stream\r\n\r\n`;
  const nameField = name === undefined ? '' : `${start('name="filename"')}\r\n${name}\r\n`;
  const tail = `\r\n${nameField}--${boundary}--\r\n`;
  return file.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (to) => to.enqueue(encoder.encode(head)),
      flush: (to) => to.enqueue(encoder.encode(tail)),
    }),
  );
}

async function toBlob(file: BlobSource): Promise<Blob> {
  if (file instanceof Blob) return file;
  if (!('path' in file)) return new Blob([file]);
  // A browser must not load it, so it is no import at the top.
  const { openAsBlob } = await import('node:fs');
  return openAsBlob(file.path);
}

function findName(file: FileSource): string | undefined {
  if ('path' in file) return file.path.split(/[\\/]/).at(-1);
  return 'name' in file && typeof file.name === 'string' ? file.name : undefined;
}

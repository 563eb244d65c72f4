/** A file to upload: bytes, a Blob or File, a stream, or on Node, Deno and Bun the path of a file. */
export type FileSource =
  Blob | ReadableStream<Uint8Array> | ArrayBuffer | Uint8Array<ArrayBuffer> | { path: string };

export interface Upload {
  file: FileSource;
  /** Name of the file; default: that of the File or path. */
  filename?: string;
}

/**
 * Makes the form of an upload. A stream is read into memory first, because a retry sends it again. A path is read from
 * the disk at each attempt.
 */
export async function createForm({ file, filename }: Upload): Promise<FormData> {
  const form = new FormData();
  const name = filename ?? findName(file);
  form.append('file', await toBlob(file), name ?? 'file');
  if (name !== undefined) form.append('filename', name);
  return form;
}

async function toBlob(file: FileSource): Promise<Blob> {
  if (file instanceof Blob) return file;
  if (file instanceof ReadableStream) return new Response(file).blob();
  if (!('path' in file)) return new Blob([file]);
  // A browser must not load it, so it is no import at the top.
  const { openAsBlob } = await import('node:fs');
  return openAsBlob(file.path);
}

function findName(file: FileSource): string | undefined {
  if ('path' in file) return file.path.split(/[\\/]/).at(-1);
  return 'name' in file && typeof file.name === 'string' ? file.name : undefined;
}

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Problem, type FieldError } from '@gwk/core/problems';
import { MAX_FILENAME, MAX_MEDIA_BYTES, MediaUpload } from '@gwk/core/resources/media';
import busboy, { type Busboy } from 'busboy';
import { ClientGone } from '../http/body.js';
import { incompleteRequest } from '../http/in-flight.js';
import { validate } from '../http/validate.js';
import { FileTooLarge, type MediaFiles, type ReceivedFile } from './files.js';

export interface Upload {
  file: ReceivedFile;
  filename: string | null;
}

/** Bytes of boundaries, headers and other fields in a form. */
const MAX_FORM_OVERHEAD = 1_000_000;
const IDLE_TIMEOUT_MS = 20_000;
const LIMITS = { files: 1, fields: 20, parts: 25, fieldSize: 10_000, fieldNameSize: 200, headerPairs: 50 };

/**
 * Streams an upload from the socket through hash and encryption into the store, with backpressure: at most a few chunks are
 * in memory.
 * @throws Problem `validation-error`, `file-too-large`, `empty-file`; ClientGone
 */
export async function receiveUpload(req: IncomingMessage, files: MediaFiles): Promise<Upload> {
  if (Number(req.headers['content-length'] ?? 0) > MAX_MEDIA_BYTES + MAX_FORM_OVERHEAD) {
    throw new Problem('file-too-large');
  }
  const form = new Form(req, files);
  try {
    return await form.read();
  } catch (error) {
    form.abandon();
    await form.discard();
    if (error instanceof FileTooLarge) throw new Problem('file-too-large');
    throw error;
  }
}

const NAME = MediaUpload.pick({ filename: true });

class Form {
  readonly #req: IncomingMessage;
  readonly #files: MediaFiles;
  readonly #parser: Busboy;
  #filename: string | undefined;
  #partName: string | undefined;
  #receiving: Promise<ReceivedFile> | undefined;
  #current: Readable | undefined;

  constructor(req: IncomingMessage, files: MediaFiles) {
    this.#req = req;
    this.#files = files;
    try {
      this.#parser = busboy({ headers: req.headers, limits: LIMITS, defParamCharset: 'utf8' });
    } catch {
      throw invalid('', 'content-type', 'O corpo deve ser multipart/form-data.');
    }
  }

  async read(): Promise<Upload> {
    await this.#parse();
    if (!this.#receiving) throw invalid('file', 'required', 'a file part is required');
    const file = await this.#receiving;
    if (file.size === 0) throw new Problem('empty-file');
    return { file, filename: this.#name() };
  }

  /** The field `filename` of the form wins over the filename of the part. */
  #name(): string | null {
    const { filename } = validate(NAME, { filename: this.#filename });
    const name = filename ?? validate(NAME, { filename: this.#partName }).filename;
    return name === undefined || name === '' ? null : name;
  }

  #parse(): Promise<void> {
    const parser = this.#parser;
    return new Promise((resolve, reject) => {
      const idleTimer = setTimeout(() => reject(incompleteRequest()), IDLE_TIMEOUT_MS);
      const end = (settle: () => void): void => {
        clearTimeout(idleTimer);
        settle();
      };
      const fail = (error: Error): void => end(() => reject(error));
      this.#req.on('data', () => idleTimer.refresh());
      this.#req.on('close', () => {
        if (!this.#req.complete) fail(new ClientGone());
      });
      parser.on('file', (name, stream, info) => {
        // A broken form may end the stream before it is read, or a stream that is ignored.
        stream.on('error', () => undefined);
        if (name !== 'file') {
          stream.resume();
          return;
        }
        this.#partName = info.filename;
        this.#current = stream;
        const hints = { filename: info.filename ?? null, declared: info.mimeType };
        this.#receiving = this.#files.receive(stream, MAX_MEDIA_BYTES, hints);
        this.#receiving.catch(fail);
      });
      parser.on('field', (name, value, info) => {
        if (name === 'filename') this.#filename = info.valueTruncated ? 'x'.repeat(MAX_FILENAME + 1) : value;
      });
      parser.on('filesLimit', () => fail(invalid('file', 'too-many', 'only one file in a form')));
      parser.on('partsLimit', () => fail(invalid('', 'too-many', 'too many parts')));
      parser.on('fieldsLimit', () => fail(invalid('', 'too-many', 'too many fields')));
      parser.on('error', () => fail(invalid('', 'multipart', 'O corpo não é multipart/form-data válido.')));
      parser.on('close', () => end(resolve));
      this.#req.pipe(parser);
    });
  }

  /** Ignores the rest of the request. */
  abandon(): void {
    this.#req.unpipe(this.#parser);
    this.#current?.destroy();
    this.#parser.on('error', () => undefined);
    this.#parser.destroy();
  }

  async discard(): Promise<void> {
    const file = await this.#receiving?.catch(() => undefined);
    if (file) await this.#files.discard(file);
  }
}

const invalid = (path: string, code: string, message: string): Problem => {
  const errors: FieldError[] = [{ path, code, message }];
  return new Problem('validation-error', { errors });
};

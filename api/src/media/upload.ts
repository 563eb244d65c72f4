import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Problem } from '@gwk/core/problems/problems';
import { MAX_FILENAME, MediaUpload, MEGABYTE } from '@gwk/core/resources/media';
import busboy, { type Busboy } from 'busboy';
import { ClientGone } from '../http/body.js';
import { incompleteRequest } from '../http/in-flight.js';
import { validate } from '../http/validate.js';
import { FileTooLarge, type MediaFiles, type ReceivedFile } from './files.js';
import { refineType } from './sniff.js';
import { MAX_CREDIT_MS } from './transfers/pace.js';
import type { Transfer, Transfers } from './transfers/transfers.js';

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
 * @throws Problem `validation-error`, `file-too-large`, `empty-file`; TransferLimited, ClientGone
 */
export async function receiveUpload(
  req: IncomingMessage,
  files: MediaFiles,
  { transfers, account }: { transfers: Transfers; account: string },
): Promise<Upload> {
  if (Number(req.headers['content-length'] ?? 0) > files.maxBytes + MAX_FORM_OVERHEAD) {
    throw tooLarge(files);
  }
  const slow = new AbortController();
  const transfer = transfers.open({ account }, () => slow.abort());
  // The time of the store counts neither as the client's nor as silence of the connection.
  req.on('end', () => (transfer.waitsForClient = false));
  req.on('pause', () => (transfer.waitsForClient = false));
  req.on('resume', () => (transfer.waitsForClient = !req.readableEnded));
  req.socket.setTimeout(MAX_CREDIT_MS);
  try {
    return await readUpload(req, files, { account, transfer, signal: slow.signal });
  } finally {
    transfer.close();
  }
}

interface Limits {
  account: string;
  transfer: Transfer;
  /** Aborted when the upload is too slow. */
  signal: AbortSignal;
}

async function readUpload(req: IncomingMessage, files: MediaFiles, limits: Limits): Promise<Upload> {
  const parser = openParser(req);
  const form: Form = {};
  try {
    await parseForm(req, parser, form, { files, ...limits });
    if (!form.received) throw invalid('file', 'required', 'a file part is required');
    const file = await form.received;
    if (file.size === 0) throw new Problem('empty-file');
    const filename = chooseName(form);
    return { file: { ...file, mimetype: refineType(file.mimetype, filename) }, filename };
  } catch (error) {
    // Ignores the rest of the request.
    req.unpipe(parser);
    form.stream?.destroy();
    parser.on('error', () => undefined).destroy();
    const file = await form.received?.catch(() => undefined);
    if (file) await files.discard(file);
    throw error instanceof FileTooLarge ? tooLarge(files) : error;
  }
}

/** Content of a form, as far as it is read. */
interface Form {
  filename?: string;
  partName?: string;
  stream?: Readable;
  received?: Promise<ReceivedFile>;
}

const NAME = MediaUpload.pick({ filename: true });

/** The field `filename` of the form wins over the filename of the part. */
function chooseName(form: Form): string | null {
  const { filename } = validate(NAME, { filename: form.filename });
  return (filename ?? validate(NAME, { filename: form.partName }).filename) || null;
}

function openParser({ headers }: IncomingMessage): Busboy {
  try {
    return busboy({ headers, limits: LIMITS, defParamCharset: 'utf8' });
  } catch {
    throw invalid('', 'content-type', 'The body must be multipart/form-data.');
  }
}

function parseForm(
  req: IncomingMessage,
  parser: Busboy,
  form: Form,
  { files, account, transfer, signal }: Limits & { files: MediaFiles },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const idleTimer = setTimeout(() => {
    // Paused, it waits for the store.
    if (req.isPaused()) idleTimer.refresh();
    else reject(incompleteRequest());
  }, IDLE_TIMEOUT_MS);
  req.on('data', () => idleTimer.refresh());
  req.on('resume', () => idleTimer.refresh());
  signal.addEventListener('abort', () => reject(incompleteRequest()));
  req.on('close', () => {
    if (!req.complete) reject(new ClientGone());
  });
  parser.on('file', (name, stream, { filename, mimeType }) => {
    // A broken form may end the stream before it is read, or a stream that is ignored.
    stream.on('error', () => undefined);
    if (name !== 'file') {
      stream.resume();
      return;
    }
    const hints = { filename: filename ?? null, declared: mimeType };
    const progress = (bytes: number): void => transfer.progress(bytes);
    const received = files.receive(stream, files.maxBytes, hints, { owner: account, progress });
    received.catch(reject);
    Object.assign(form, { stream, received, partName: filename });
  });
  parser.on('field', (name, value, info) => {
    if (name === 'filename') form.filename = info.valueTruncated ? 'x'.repeat(MAX_FILENAME + 1) : value;
  });
  parser.on('filesLimit', () => reject(invalid('file', 'too-many', 'only one file in a form')));
  parser.on('partsLimit', () => reject(invalid('', 'too-many', 'too many parts')));
  parser.on('fieldsLimit', () => reject(invalid('', 'too-many', 'too many fields')));
  parser.on('error', () => reject(invalid('', 'multipart', 'The body is not valid multipart/form-data.')));
  parser.on('close', resolve);
  if (req.destroyed) reject(new ClientGone());
  req.pipe(parser);
  return promise.finally(() => clearTimeout(idleTimer));
}

function tooLarge({ maxBytes }: MediaFiles): Problem {
  const mb = Math.floor(maxBytes / MEGABYTE);
  const detail = { pt: `O arquivo excede ${mb} MB.`, en: `The file exceeds ${mb} MB.` };
  return new Problem('file-too-large', { detail });
}

const invalid = (path: string, code: string, message: string): Problem =>
  new Problem('validation-error', { errors: [{ path, code, message }] });

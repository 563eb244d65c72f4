import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createLogger } from '@gwk/core/process/log';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { decoderJobs } from '@gwk/test/support/api/tools';
import { returnFileHandles, TAKE_ALL } from '@gwk/test/support/file-handles';
import { until } from '@gwk/test/support/wait';
import sharp from 'sharp';
import { startDecoderServer } from './server.js';
import type { Isolation } from './isolation.js';
import type { ToolJob } from '@gwk/core/decoder/jobs';

const folder = mkdtempSync(join(tmpdir(), 'gwk-decoder-test-'));
const socket = join(folder, 'decoder.sock');
const jobs = mkdtempSync(join(folder, 'jobs-'));
const limits = { timeMs: 60_000, memoryMb: 1024 };
const [input, output] = [join(folder, 'input'), join(folder, 'output')];
let server: Server | undefined;

beforeAll(async () => {
  await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
    .webp()
    .toFile(input);
});
afterEach(() => {
  server?.close().closeAllConnections();
  server = undefined;
  rmSync(output, { force: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isolation = { kind: 'none', user: null, prefix: () => [] } as const;
const startDecoder = async (given: Isolation = isolation) => {
  const log = createLogger('test', 'fatal');
  server = await startDecoderServer({ socket, folder: jobs, ffmpeg: null, isolation: given, log });
};
/** A decoder that a hostile file has taken over. */
async function startHostile(answer: RequestListener): Promise<void> {
  server = createServer((req, res) => {
    req.resume().once('end', () => answer(req, res));
  }).listen(socket);
  await once(server, 'listening');
}
const convert: ToolJob = { tool: 'image', decoder: 'sharp', input, output };
const run = (job: ToolJob = convert, signal = new AbortController().signal, onDecoding?: () => void) =>
  decoderJobs(socket, () => limits)(job, folder, signal, onDecoding);

test('decodes a file, returns what it made of it, and keeps nothing', async () => {
  await startDecoder();
  expect(await run()).toMatchObject({ width: 40, height: 30, converted: true });
  expect((await sharp(output).metadata()).format).toBe('jpeg');
  await until(() => readdirSync(jobs).length === 0, { what: 'the folder of the job is removed' });
});

test('creates the folder of the jobs again, which jobs of another user reach', async () => {
  await startDecoder();
  rmSync(jobs, { recursive: true });
  expect(await run()).toMatchObject({ converted: true });
  expect(statSync(jobs).mode & 0o777).toBe(0o711);
});

test('refuses a file that is no picture', async () => {
  await startDecoder();
  const path = join(folder, 'text');
  writeFileSync(path, 'no picture');
  expect(await run({ ...convert, input: path })).toEqual({ refused: 'the picture cannot be decoded' });
});

test('reports that there is no ffmpeg', async () => {
  await startDecoder();
  expect(await run({ tool: 'video', container: 'mov', input, output })).toEqual({
    notRun: 'there is no ffmpeg',
  });
});

test('refuses a plan with an option for ffmpeg in the name of the container', async () => {
  await startDecoder();
  await expect(run({ tool: 'video', container: '-filter', input, output })).rejects.toThrow(
    'the decoder is unavailable',
  );
});

test('a decoder that lacks file handles for the result does not refuse the file', async () => {
  // The process of the job ends with the handles of the decoder.
  const script = `"$@"; prlimit ${TAKE_ALL.join(' ')}`;
  await startDecoder({ ...isolation, prefix: () => ['sh', '-c', script, 'sh'] });
  const answer = await returnFileHandles(async () => {
    const headers = { 'gwk-job': JSON.stringify({ plan: { tool: 'image', decoder: 'sharp' }, limits }) };
    const sent = request({ socketPath: socket, path: '/jobs', method: 'POST', headers });
    sent.end(readFileSync(input));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return text(response).catch((error: NodeJS.ErrnoException) => error.code);
  });
  expect(answer).toBe('{"notRun":"the decoder lacks file handles, memory or disk space"}');
});

test('without a decoder the fault is not that of the file', async () => {
  await expect(run()).rejects.toMatchObject({
    name: 'ToolNotStarted',
    message: 'the decoder is unavailable',
  });
});

test('a decoder that ends within a job is not a fault of the file', async () => {
  await startHostile((_, res) => res.destroy());
  await expect(run()).rejects.toMatchObject({ name: 'ToolNotStarted' });
});

test('stops waiting when it is aborted', async () => {
  const stop = new AbortController();
  await startHostile(() => stop.abort(new Error('the worker stops')));
  await expect(run(convert, stop.signal)).rejects.toThrow('the worker stops');
});

test.each<[string, RequestListener]>([
  ['no length', (_, res) => res.end('{}')],
  ['an answer above the limit', (_, res) => res.writeHead(200, { 'gwk-answer-bytes': 200_001 }).end()],
  ['no JSON', (_, res) => res.writeHead(200, { 'gwk-answer-bytes': 2 }).end('ok')],
  ['an unknown field', (_, res) => res.writeHead(200, { 'gwk-answer-bytes': 11 }).end('{"admin":1}')],
  [
    'a file above the limit',
    (_, res) => {
      res.writeHead(200, { 'gwk-answer-bytes': 2 }).write('{}');
      res.end(Buffer.alloc(MAX_MEDIA_BYTES + 1));
    },
  ],
])('refuses the answer of a hostile decoder: %s', async (_, answer) => {
  await startHostile(answer);
  await expect(run()).rejects.toMatchObject({ name: 'FileRefused', message: 'the file cannot be decoded' });
});

test('reports that the decoder has the file, once and before the answer', async () => {
  const onDecoding = jest.fn();
  await expect(run(convert, undefined, onDecoding)).rejects.toMatchObject({ name: 'ToolNotStarted' });
  expect(onDecoding).not.toHaveBeenCalled();
  await startHostile((_, res) => {
    const answer = () => res.writeHead(200, { 'gwk-answer-bytes': 2 }).end('{}');
    void until(() => onDecoding.mock.calls.length === 1, { what: 'the report' }).then(answer);
  });
  await run(convert, undefined, onDecoding);
  expect(onDecoding).toHaveBeenCalledTimes(1);
});

test('a job that was interrupted within its result runs again', async () => {
  const stop = new AbortController();
  const sizes = [1_000, 2];
  await startHostile((_, res) => {
    res.writeHead(200, { 'gwk-answer-bytes': 2 }).write(`{}${'x'.repeat(sizes.shift()!)}`);
    if (sizes.length === 0) res.end();
  });
  const interrupted = run(convert, stop.signal);
  await until(() => statSync(output, { throwIfNoEntry: false })?.size === 1_000, {
    what: 'a part is written',
  });
  stop.abort(new Error('a shorter job needs the decoder'));
  await expect(interrupted).rejects.toThrow('a shorter job');
  expect(await run()).toEqual({});
  expect(readFileSync(output, 'utf8')).toBe('xx');
});

test('writes what a decoder returns to its own file', async () => {
  await startHostile((_, res) =>
    res.writeHead(200, { 'gwk-answer-bytes': 18 }).end('{"converted":true}bytes'),
  );
  expect(await run()).toEqual({ converted: true });
  expect(readFileSync(output, 'utf8')).toBe('bytes');
});

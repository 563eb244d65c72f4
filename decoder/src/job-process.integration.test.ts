import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import { withoutFileHandles } from '@gwk/test/support/file-handles';
import { TRIAL_PICTURE, TRIAL_SOUND } from './choose-isolation.js';
import { runJobProcess } from './job-process.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-job-process-test-'));
const job = { tool: 'thumbnail', input: join(folder, 'input'), output: join(folder, 'output') } as const;
beforeEach(() => writeFileSync(job.input, 'no picture'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (prefix: string[], signal = new AbortController().signal, own = folder) => {
  const isolation = { kind: 'landlock', user: null, prefix: () => prefix } as const;
  return runJobProcess(job, own, signal, { timeMs: 60_000, memoryMb: 1024, ffmpeg: null, isolation });
};

test('an isolation that fails is not a fault of the file', async () => {
  expect(await run(['false'])).toEqual({ notRun: 'the process did not start or was stopped' });
  expect(await run([])).toEqual({ refused: 'the picture cannot be decoded' });
});

test('a stop of the service is not a fault of the file', async () => {
  const stopped = ['sh', '-c', 'echo; kill -TERM $$'];
  expect(await run(stopped)).toEqual({ notRun: 'the process did not start or was stopped' });
});

test.each([
  ['many files', 'i=0; while [ $i -lt 100 ]; do : >file-$i; i=$((i+1)); done'],
  ['many folders within folders', 'i=0; while [ $i -lt 100 ]; do mkdir a; cd a; i=$((i+1)); done'],
  [
    'deleted files that it keeps open',
    'for fd in 3 4 5 6 7 8 9; do eval "exec $fd>x"; head -c 64M /dev/zero >&$fd; rm x; done',
  ],
])('ends a job that writes %s', async (_, script) => {
  const own = mkdtempSync(join(tmpdir(), 'gwk-job-process-test-'));
  const hostile = ['sh', '-c', `echo; ${script}; read -r line`];
  await expect(run(hostile, undefined, own)).rejects.toThrow('decoding the file takes too much disk space');
  rmSync(own, { recursive: true });
});

test('limits the processor time of a job, for when nobody is left to end it', async () => {
  const seconds = 61 * availableParallelism();
  const script = `[ "$(ulimit -t)" = ${seconds} ] && exec "$@"`;
  expect(await run(['sh', '-c', script, 'sh'])).toEqual({ refused: 'the picture cannot be decoded' });
});

test('starts no process after its signal', async () => {
  await expect(run([], AbortSignal.abort(new Error('closed')))).rejects.toThrow('closed');
});

test('a lack of file handles is not a fault of the file', async () => {
  expect(await withoutFileHandles(() => run([]))).toEqual({ notRun: 'the process did not start: EMFILE' });
  expect(await run([])).toEqual({ refused: 'the picture cannot be decoded' });
});

/** A transparent PNG of one pixel. */
const CLEAR_PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

/** A system without this device cannot play a full disk. */
const onFullDisk = existsSync('/dev/full') ? test : test.skip;
onFullDisk.each([
  ['picture', { tool: 'image', decoder: 'sharp' }, CLEAR_PICTURE],
  ['sticker', { tool: 'sticker', decoder: 'sharp' }, TRIAL_PICTURE],
  ['sound', { tool: 'audio', container: 'wav', voice: false, film: false }, TRIAL_SOUND],
] as const)('a full disk is not a fault of the file (%s)', async (_, plan, bytes) => {
  writeFileSync(job.input, bytes);
  const isolation = { kind: 'none', user: null, prefix: () => [] } as const;
  const limits = { timeMs: 60_000, memoryMb: 1024, ffmpeg: findFfmpeg(undefined), isolation };
  const decode = (output: string) =>
    runJobProcess({ ...plan, input: job.input, output }, folder, new AbortController().signal, limits);
  expect(await decode('/dev/full')).toEqual({ notRun: 'the disk is full' });
  expect(await decode(job.output)).toMatchObject({ converted: true });
});

import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeLeftBehind } from '@gwk/core/decoder/left-behind';
import { createLogger } from '@gwk/core/process/log';
import { listProcesses } from '@gwk/test/support/processes';
import { until } from '@gwk/test/support/wait';
import { decoderJobs } from './decoder-client.js';
import { DecoderProcess, requireDecoder, SOCKET_PREFIX } from './decoder-process.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-decoder-process-'));
const input = join(folder, 'page');
const processes: DecoderProcess[] = [];
const logged: string[] = [];
const { signal } = new AbortController();
beforeAll(() => writeFileSync(input, '<title>A page</title>'));
afterEach(async () => {
  for (const started of processes.splice(0)) await started.stop();
  expect(decoders()).toEqual([]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Times = ConstructorParameters<typeof DecoderProcess>[0]['times'];
function start(times?: Times): DecoderProcess {
  process.env['DATABASE_URL'] = 'postgres://of.the.worker';
  const log = createLogger('test', 'error', { write: (line) => void logged.push(line) });
  const started = new DecoderProcess({ ffmpeg: undefined, logLevel: 'error', log, ...(times && { times }) });
  processes.push(started);
  return started;
}

/** Decoders that this process has started. */
const decoders = (): number[] =>
  listProcesses()
    .filter(({ parent, command }) => parent === process.pid && command.endsWith('bin/gwk.js decoder'))
    .map(({ pid }) => pid);

let outputs = 0;
const decode = async (decoder: DecoderProcess) => {
  const job = { tool: 'page', charset: null, input, output: join(folder, `output-${outputs++}`) } as const;
  const run = decoderJobs(await decoder.started(signal), () => ({ timeMs: 60_000, memoryMb: 1_024 }));
  return run(job, folder, AbortSignal.timeout(120_000));
};
const decodesAgain = (decoder: DecoderProcess) =>
  until(() => decode(decoder), { what: 'the next decoder decodes' });

test('starts a decoder without secrets, and starts it again when it is killed', async () => {
  const decoder = start();
  expect(await decode(decoder)).toMatchObject({ page: { title: 'A page' } });
  expect(await decoder.isAlive(10_000)).toBe(true);
  const [pid, ...others] = decoders();
  expect(others).toEqual([]);
  expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('of.the.worker');
  process.kill(pid!, 'SIGKILL');
  await decodesAgain(decoder);
});

test('another worker keeps the socket of a decoder that has run for more than an hour', async () => {
  const decoder = start({ everyMs: 50 });
  const path = dirname(await decoder.started(signal));
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  const old = new Date(Date.now() - 7_200_000);
  utimesSync(path, old, old);
  await until(async () => (await stat(path)).mtimeMs > Date.now() - 60_000, { what: 'the folder is fresh' });
  await removeLeftBehind(SOCKET_PREFIX);
  expect(await decode(decoder)).toMatchObject({ page: { title: 'A page' } });
});

test('replaces a decoder whose socket was deleted', async () => {
  const decoder = start({ everyMs: 50 });
  const path = await decoder.started(signal);
  rmSync(dirname(path), { recursive: true });
  await until(async () => (await decoder.started(signal)) !== path, { what: 'another socket' });
  await decodesAgain(decoder);
});

test('replaces a decoder that hangs', async () => {
  const decoder = start({ everyMs: 50, checkMs: 500 });
  await decoder.started(signal);
  const [hanging] = decoders();
  process.kill(hanging!, 'SIGSTOP');
  await until(() => !decoders().includes(hanging!), { what: 'the decoder is killed' });
  await decodesAgain(decoder);
});

test('replaces a decoder that does not start in time', async () => {
  const decoder = start({ startMs: 0 });
  await decoder.started(signal).catch(() => undefined);
  await until(() => logged.some((line) => line.includes('no start within 0 s')), { what: 'the start ends' });
  expect(await decoder.isAlive(10_000)).toBe(false);
});

test('a job that waits for the start ends with its signal', async () => {
  const waiting = new AbortController();
  const started = start().started(waiting.signal);
  waiting.abort(new Error('the worker stops'));
  await expect(started).rejects.toThrow('the worker stops');
});

test('stops a decoder that has not started yet', async () => {
  await start().stop();
});

test('an installation without a decoder names the setting', () => {
  expect(() => requireDecoder()).not.toThrow();
  expect(() => requireDecoder(join(folder, 'cli.js'))).toThrow('GWK_WORKER_DECODER: required');
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gwk/core/process/log';
import { listProcesses } from '@gwk/test/support/processes';
import { until } from '@gwk/test/support/wait';
import { decoderJobs } from './decoder-client.js';
import { DecoderProcess } from './decoder-process.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-decoder-process-'));
const socket = join(folder, 'decoder.sock');
const input = join(folder, 'page');
const processes: DecoderProcess[] = [];
beforeAll(() => writeFileSync(input, '<title>A page</title>'));
afterAll(async () => {
  for (const started of processes) await started.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(): DecoderProcess {
  process.env['DATABASE_URL'] = 'postgres://of.the.worker';
  const started = new DecoderProcess({
    ...{ socket, ffmpeg: undefined, logLevel: 'error', log: createLogger('test', 'silent') },
  });
  processes.push(started);
  return started;
}

/** Processes with this socket in their environment. */
const decoders = (): number[] =>
  listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`GWK_DECODER_SOCKET=${socket}`);
      } catch {
        return false;
      }
    });

let outputs = 0;
const decode = () => {
  const job = { tool: 'page', charset: null, input, output: join(folder, `output-${outputs++}`) } as const;
  return decoderJobs(socket, () => ({ timeMs: 60_000, memoryMb: 1_024 }))(
    job,
    folder,
    AbortSignal.timeout(120_000),
  );
};

test('starts a decoder without secrets, starts it again when it is killed, and leaves none', async () => {
  const decoder = start();
  await decoder.started();
  expect(await decode()).toMatchObject({ page: { title: 'A page' } });
  const [pid, ...others] = decoders();
  expect(others).toEqual([]);
  expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('of.the.worker');
  process.kill(pid!, 'SIGKILL');
  await until(async () => decode(), { what: 'the next decoder decodes' });
  await decoder.stop();
  expect(decoders()).toEqual([]);
});

test('stops a decoder that has not started yet', async () => {
  await start().stop();
  expect(decoders()).toEqual([]);
});

import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import { decodeFile } from '@gwk/api/media/prepare/decode';
import { DecoderQueue } from '@gwk/api/media/prepare/decoder-queue';
import type { ToolPlan } from '@gwk/core/decoder/jobs';
import { gif } from '../../support/api/hostile-files.js';
import { openTools } from '../../support/api/tools.js';
import { Samples } from '../../support/api/samples.js';
import { realTime } from '../../support/wait.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-decoder-share-'));
const samples = new Samples(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Just below the limit, so that each takes a minute or more. */
const SLOW = { width: 5_000, height: 5_000, frames: 79 };

test('two accounts with 20 slow files each delay the picture of a third one by less than 5 s', async () => {
  const slow = samples.path('slow.gif');
  writeFileSync(slow, gif(SLOW.width, SLOW.height, SLOW.frames, 10));
  const other = samples.path('other.gif');
  writeFileSync(other, gif(SLOW.height, SLOW.width, SLOW.frames, 20));
  const picture = await samples.picture('picture.jpg', 1_200, 900);
  const tools = openTools({
    timeMs: realTime(600_000),
    memoryMb: 1_024,
    concurrency: 2,
    ffmpeg: findFfmpeg(undefined),
  });
  const decoders = new DecoderQueue({ decoders: 2 });
  const stop = new AbortController();
  const decode = (accountId: string, file: string, plan: ToolPlan) => {
    const source = { open: () => Promise.resolve(createReadStream(file)), isRemote: false };
    return decodeFile(
      source,
      plan,
      { tools, decoders, folder, accountId, signal: stop.signal },
      (answer) => answer,
    );
  };
  const attacks = Array.from({ length: 20 }, () => [
    decode('a', slow, { tool: 'gif' }),
    decode('b', other, { tool: 'video', container: 'gif' }),
  ]).flat();
  const ended = Promise.allSettled(attacks);
  for (let i = 0; i < 3; i++) {
    const started = performance.now();
    expect(await decode('c', picture, { tool: 'image', decoder: 'sharp' })).toMatchObject({ width: 1_200 });
    expect(performance.now() - started).toBeLessThan(realTime(5_000));
  }
  stop.abort(new Error('the test ends'));
  await ended;
});

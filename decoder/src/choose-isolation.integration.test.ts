import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import { createLogger } from '@gwk/core/process/log';
import { chooseIsolation } from './choose-isolation.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-choose-isolation-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const choose = async (ffmpeg: string | null) =>
  (await chooseIsolation(ffmpeg, folder, createLogger('test', 'silent'))).kind;

test('chooses an isolation in which ffmpeg decodes a sound', async () => {
  expect(await choose('/bin/false')).toBe('none');
  expect(await choose(findFfmpeg(undefined))).toBe(await choose(null));
});

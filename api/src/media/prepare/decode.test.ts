import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { decodeFile } from './decode.js';

test('creates the folder after its parent was deleted', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'gwk-jobs-'));
  await rm(parent, { recursive: true });
  const run = jest.fn(async ({ input }: { input: string }, folder: string) => {
    expect((await stat(folder)).isDirectory()).toBe(true);
    expect((await stat(parent)).mode & 0o077).toBe(0);
    return { thumbnail: await readFile(input, 'utf8') };
  });
  const open = () => Promise.resolve(Readable.from([Buffer.from('a file')]));
  const deps = { tools: { run }, folder: parent, signal: new AbortController().signal };
  const answer = await decodeFile(open, { tool: 'thumbnail' }, deps, ({ thumbnail }) => thumbnail);
  expect(answer).toBe('a file');
  await expect(stat(run.mock.calls[0]![1])).rejects.toThrow('ENOENT');
  await rm(parent, { recursive: true });
});

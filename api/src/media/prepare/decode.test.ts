import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { decodeFile } from './decode.js';
import { DecoderQueue } from './decoder-queue.js';

test('creates the folder after its parent was deleted', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'gwk-jobs-'));
  await rm(parent, { recursive: true });
  const run = jest.fn(async ({ input }: { input: string }, folder: string) => {
    expect((await stat(folder)).isDirectory()).toBe(true);
    expect((await stat(parent)).mode & 0o777).toBe(0o700);
    expect((await stat(folder)).mode & 0o077).toBe(0);
    return { thumbnail: await readFile(input, 'utf8') };
  });
  const open = () => Promise.resolve(Readable.from([Buffer.from('a file')]));
  const { signal } = new AbortController();
  const decoders = new DecoderQueue({ decoders: 1 });
  const deps = { tools: { run }, decoders, folder: parent, accountId: 'a', signal };
  const answer = await decodeFile(
    { open, isRemote: false },
    { tool: 'thumbnail' },
    deps,
    ({ thumbnail }) => thumbnail,
  );
  expect(answer).toBe('a file');
  await expect(stat(run.mock.calls[0]![1])).rejects.toThrow('ENOENT');
  await rm(parent, { recursive: true });
});

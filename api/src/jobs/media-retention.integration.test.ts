import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { newUuid } from '@gwk/core/ids/ids';
import { NO_ACCOUNT_LIMITS } from '@gwk/test/support/api/internal-api';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';
import { MediaFiles, type MediaRow } from '../media/files.js';
import { expiredMediaJob, mediaFileRemovalJob } from './retention.js';
import { FolderStore } from '../media/store/folder-store.js';
import { FileMissing } from '../media/store/store.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-retention-'));
const store = new FolderStore(folder);
let world: World;
let files: MediaFiles;
beforeAll(async () => {
  world = await createWorld();
  files = new MediaFiles({
    db: world.database,
    sealer: world.sealer,
    store,
    limits: NO_ACCOUNT_LIMITS,
    maxBytes: 1e6,
  });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const named = { filename: null, declared: null };
const receive = () => files.receive(Readable.from([Buffer.from('a file')]), 1_000, named);
const keepFile = async (messageId: string | null = null): Promise<MediaRow> => {
  const accountId = world.accountId;
  return files.keep(await receive(), {
    id: newUuid(),
    accountId,
    messageId,
    origin: 'upload',
    filename: 'a.txt',
  });
};
const stored = () => readdirSync(folder).flatMap((name) => readdirSync(join(folder, name)));

async function job(): Promise<void> {
  const deps = { db: world.database } as Parameters<typeof expiredMediaJob>[0];
  await expiredMediaJob(deps).pass();
  await mediaFileRemovalJob(deps, store).pass();
}
const expire = ({ id }: MediaRow, days: number) =>
  world.database.$executeRaw`
    UPDATE media SET expires_at = now() - ${days}::integer * interval '1 day' WHERE id = ${id}::uuid`;

test('removes an expired file with its key and name, and keeps its row for 30 more days', async () => {
  const [row, fresh] = [await keepFile(), await keepFile()];
  await expire(row, 0);
  await job();
  expect(stored()).toEqual([fresh.storeKey]);
  const left = await files.find(row.id);
  expect([left!.removedAt, left!.filename, left!.keySealed.length]).toEqual([expect.any(Date), null, 0]);
  await expect(files.open(left!)).rejects.toThrow(FileMissing);
  await expire(row, 31);
  await job();
  expect(await files.find(row.id)).toBeNull();
  expect(await files.find(fresh.id)).not.toBeNull();
});

test('removes a file made for a message together with its content', async () => {
  const row = await keepFile(newUuid());
  await job();
  expect(await files.find(row.id)).toBeNull();
  expect(stored()).not.toContain(row.storeKey);
});

test('removes a file without a row after one hour, not before', async () => {
  const file = await receive();
  await job();
  expect(stored()).toContain(file.storeKey);
  await world.database.storeRemoval.updateMany({ data: { dueAt: new Date() } });
  await job();
  expect(stored()).not.toContain(file.storeKey);
  const media = { id: newUuid(), accountId: world.accountId, origin: 'upload', filename: null } as const;
  const late = files.keep(file, media);
  await expect(late).rejects.toThrow('not kept in time');
});

test('removes the files of a deleted account', async () => {
  const row = await keepFile();
  await world.database.$executeRaw`DELETE FROM media WHERE id = ${row.id}::uuid`;
  await job();
  expect(stored()).not.toContain(row.storeKey);
});

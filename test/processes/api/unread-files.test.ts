import { randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { Readable } from 'node:stream';
import { openContent, sealContent } from '@gwk/api/messages/content';
import { LOOK_EVERY_MS, MAX_CREDIT_MS } from '@gwk/api/media/transfers/pace';
import {
  createInternalApiWorld,
  newTransfers,
  type InternalApiWorld,
  type TestEngine,
} from '../../support/api/internal-api.js';
import { ManualClock } from '../../support/clock.js';
import { until } from '../../support/wait.js';

const clock = new ManualClock();
const transfers = newTransfers(clock);
let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await createInternalApiWorld({ transfers });
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const lease = (of: TestEngine) => ({ epoch: of.lease.epoch, holder: of.lease.holder });
const upload = (of: TestEngine, bytes: Buffer) => {
  const { epoch, holder } = lease(of);
  return internalApi.clientWith(of.token).upload({ epoch: String(epoch), holder }, Readable.from([bytes]));
};

/** Accepts a message whose file is prepared. */
async function finished(bytes: Buffer, to: string): Promise<string> {
  const { media_id: file } = await upload(engine, bytes);
  const id = await internalApi.accept({ instance: engine.instanceId, to });
  const { database, sealer } = internalApi.world;
  const row = await database.messageContent.findUniqueOrThrow({ where: { messageId: id } });
  const content = JSON.parse(openContent(sealer, engine.instanceId, row.contentSealed)) as object;
  const sealed = sealContent(sealer, engine.instanceId, JSON.stringify({ ...content, finished: { file } }));
  await database.messageContent.update({
    where: { messageId: id },
    data: { contentSealed: new Uint8Array(sealed) },
  });
  return id;
}

/** Files of the media store that this process holds open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).includes('/gwk-media-');
    } catch {
      return false;
    }
  }).length;

test('closes the connection and the file when an engine does not read a download', async () => {
  // More than the kernel buffers for a connection.
  const id = await finished(randomBytes(32 * 1024 * 1024), '5511987650001');
  await engine.claim(10);
  const unread = await internalApi.clientWith(engine.token).download({ ...lease(engine), message_id: id });
  unread.on('error', () => undefined);
  expect(transfers.engine_download.size).toBe(1);
  const isClosed = (): boolean => {
    clock.advance(MAX_CREDIT_MS + LOOK_EVERY_MS);
    return transfers.engine_download.size === 0;
  };
  await until(isClosed, { what: 'the connection is closed' });
  expect(openFiles()).toBe(0);
  unread.destroy();
});

import { fromPublicId } from '@gwk/core/ids/ids';
import { join } from 'node:path';
import { createClient } from 'redis';
import { restoreBackup, takeBackup } from './backup.js';
import type { Gateway } from '../support/gateway/gateway.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { toChatId, testPhone } from '../support/gateway/traffic.js';
import { realTime, until } from '../support/wait.js';

/** Follows "Backup and restore" of docs/operate.md on real processes. */
describe('a gateway whose database is lost and restored from a backup', () => {
  let stage: Stage;
  let gateway: Gateway;
  beforeAll(async () => {
    stage = await openStage('restore', { ownPostgres: true, ownRedis: true });
    ({ gateway } = stage);
  });
  afterAll(() => stage?.close());

  const send = (text: string, conversation: number) =>
    stage.customer.client.acceptedText(stage.instance.id, testPhone(conversation), text);
  const arrived = async (...texts: string[]) => {
    const all = (await gateway.network.stanzas()).map(({ text }) => text);
    return texts.every((text) => all.includes(text));
  };
  const left = (id: string) => stage.customer.client.hasLeft(id);

  test('sends nothing twice, runs one engine per instance, and keeps the rows of the backup', async () => {
    const { client } = stage.customer;
    const before = await send('left before the backup', 1);
    await until(async () => (await client.message(before.id)).status === 'read', {
      what: 'the first message is read',
    });

    // A message of unknown outcome, and one that waits behind it.
    await gateway.network.setRule({ hold: true }, toChatId(testPhone(2)));
    const unconfirmed = await send('unconfirmed at the backup', 2);
    const waiting = await send('waiting at the backup', 2);
    await until(() => arrived('unconfirmed at the backup'), { what: 'the network has the message' });
    const folder = join(gateway.folder, 'backup');
    const tables = await takeBackup(gateway.settings.databaseUrl, folder);

    await gateway.network.setRule({}, toChatId(testPhone(2)));
    const after = await send('sent after the backup', 3);
    for (const { id } of [unconfirmed, waiting, after]) {
      await until(() => left(id), { what: 'all messages leave before the loss' });
    }
    const late = await client.connectedInstance('made after the backup');

    // Stops engines first, so that nothing is sent that the restored rows do not contain.
    await gateway.operator.stop();
    for (const program of [...gateway.workers, ...gateway.apis]) await program.stop();
    await until(() => gateway.engines().length === 0, { what: 'no engine runs' });
    await restoreBackup(gateway.settings.databaseUrl, folder, tables);
    await gateway.gwk('after-restore');
    const redis = createClient({ url: gateway.settings.redisUrl });
    await redis.connect();
    await redis.flushAll();
    redis.destroy();
    for (const program of [...gateway.apis, ...gateway.workers, gateway.operator]) await program.start();

    await client.untilConnected(stage.instance.id);
    for (const { id } of [unconfirmed, waiting]) {
      await until(() => left(id), {
        what: 'messages in progress have an outcome',
        timeoutMs: realTime(90_000),
      });
    }
    const fresh = await send('sent after the restore', 2);
    await until(() => left(fresh.id), { what: 'the restored gateway sends' });

    // The network treats a repeat under the same id as one message.
    const stanzas = await gateway.network.stanzas();
    const ids = Map.groupBy(stanzas, ({ text }) => text);
    for (const [text, some] of ids) {
      expect([text, new Set(some.map(({ waMessageId }) => waMessageId)).size]).toEqual([text, 1]);
    }
    const inChat = stanzas.filter(({ chat }) => chat === toChatId(testPhone(2))).map(({ text }) => text);
    expect(inChat.at(-1)).toBe('sent after the restore');
    expect([...ids.keys()]).toEqual(
      expect.arrayContaining(['unconfirmed at the backup', 'waiting at the backup', 'sent after the backup']),
    );

    // Rows since the backup are lost. The resource that the cluster kept becomes an instance again.
    expect((await client.call('GET', `/v1/messages/${after.id}`)).status).toBe(404);
    await client.untilConnected(late.id);
    expect((await client.message(before.id)).status).toBe('read');
    await until(() => gateway.engines().length === 2, { what: 'one engine for each instance' });
    const epochs = new Map(stanzas.map(({ instanceId, epoch, n }) => [`${instanceId} ${n}`, epoch]));
    const ours = fromPublicId('instance', stage.instance.id)!;
    expect([...epochs].filter(([key]) => key.startsWith(ours)).length).toBeGreaterThan(4);
  });
});

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaOut } from '@gwk/core/resources/media';
import type { MessageOut } from '@gwk/core/resources/message';
import { Samples } from '../support/api/samples.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { query } from '../support/servers/database.js';
import { until } from '../support/wait.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-media-killed-'));
let stage: Stage;
beforeAll(async () => {
  stage = await openStage('media');
});
afterAll(async () => {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function uploaded(path: string): Promise<MediaOut> {
  const form = new FormData();
  form.append('file', new Blob([readFileSync(path)]), 'long.mp3');
  const answer = await fetch(`${stage.gateway.urls[0]}/v1/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stage.customer.key.api_key}` },
    body: form,
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as MediaOut;
}

test('the next worker prepares the file of a killed one', async () => {
  const { gateway, instance, customer } = stage;
  const { client } = customer;
  const media = { media_id: (await uploaded(new Samples(folder).sound('long.mp3', 60))).id };
  const body = { instance_id: instance.id, to: testPhone(1), type: 'audio', audio: { media, voice: true } };
  const { id } = await client.expect<MessageOut>(202, 'POST', '/v1/messages', { body });
  await gateway.workers[0]!.kill('SIGKILL');
  // The claimed work is due again after a timeout, which the test skips.
  await until(() => gateway.workers[0]!.ready().then(() => true), { what: 'the worker is ready' });
  await query(gateway.settings.databaseUrl, 'UPDATE outbox SET prepare_at = now() WHERE NOT prepared');
  const message = await until(
    async () => {
      const seen = await client.message(id);
      return !['queued', 'sending'].includes(seen.status) && seen;
    },
    { what: 'the message has left or failed' },
  );
  expect(message.error).toBeNull();
  const stanzas = await gateway.network.stanzasOf(instance.id);
  const { bytes } = stanzas.find(({ waMessageId }) => waMessageId === message.wa_message_id)!;
  expect((JSON.parse(bytes) as { media: unknown }).media).toMatchObject({ duration_s: 60 });
});

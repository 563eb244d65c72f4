import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromPublicId } from '@gwk/core/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/encryption';
import type { MessageOut } from '@gwk/core/resources/message';
import pg from 'pg';
import { createClient } from 'redis';
import { filesWith, formsOf, plainColumns, redisKeys, sealedColumns, type SealedContent } from './search.js';
import { idOlder } from '../support/servers/dated-ids.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report, settle } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

/** In everything that anybody says here, with a word of its own behind it. */
const MARKER = `mk${randomBytes(6).toString('hex')}`;
/** The words, as they stand in what was opened. */
const PATTERN = new RegExp(`${MARKER}-([a-z]+)`, 'g');
const say = (word: string): string => `${MARKER}-${word}`;

/** What is not sealed, and says nothing: digests, and values of others that only their owner can make. */
const DIGESTS = ['api_keys.hash', 'engine_tokens.hash', 'idempotency_records.body_hash', 'media.sha256'];

describe('what is kept, where, and for how long', () => {
  let stage: Stage;
  let client: pg.Client;
  let files: string;
  let figures: Record<string, string | number>;

  beforeAll(async () => {
    files = mkdtempSync(join(tmpdir(), 'gwk-files-'));
    mkdirSync(join(files, 'media'));
    const settings = { GWK_LOG_LEVEL: 'debug', GWK_MEDIA_FOLDER: join(files, 'media') };
    stage = await openStage('kept', {
      settings: { api: settings, worker: settings, operator: { GWK_LOG_LEVEL: 'debug' } },
      ownPostgres: true,
      ownRedis: true,
    });
    client = new pg.Client({ connectionString: stage.gateway.settings.databaseUrl });
    await client.connect();
    figures = {};
  });
  afterAll(async () => {
    report('where the marker was looked for', figures ?? {});
    await client?.end();
    await stage?.close();
    rmSync(files, { recursive: true, force: true });
  });

  const send = (phone: number, content: Record<string, unknown>): Promise<MessageOut> =>
    stage.customer.client.expect(202, 'POST', '/v1/messages', {
      body: { instance_id: stage.instance.id, to: testPhone(phone), ...content },
      headers: { 'idempotency-key': `key-${phone}` },
    });
  const hear = (phone: number, text: string): Promise<unknown> =>
    stage.customer.client.expect(200, 'POST', `/v1/instances/${stage.instance.id}/sandbox/inbound`, {
      body: { from: testPhone(phone), text },
    });

  async function sendFile(phone: number): Promise<void> {
    const filename = `${say('filename')}.txt`;
    const form =
      `--b\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\n` +
      `content-type: text/plain\r\n\r\n${`${say('content')}\n`.repeat(1_000)}\r\n--b--\r\n`;
    const { id } = await stage.customer.client.expect<{ id: string }>(201, 'POST', '/v1/media', {
      body: Buffer.from(form),
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    await send(phone, { type: 'document', document: { media: { media_id: id }, caption: say('caption') } });
  }

  /** Plain nowhere; sealed where the result says. */
  async function look(when: string): Promise<SealedContent['words']> {
    const { settings, folder } = stage.gateway;
    const account = fromPublicId('account', stage.customer.account.id)!;
    const instance = fromPublicId('instance', stage.instance.id)!;
    const sealer = new Sealer(parseEncryptionKeys(settings.encryptionKeys));
    const sealed = await sealedColumns(client, sealer, [account, instance, 'key check'], PATTERN);
    const redis = await redisKeys(settings.redisUrl, MARKER);
    const logs = [...stage.gateway.logs().values()].flat();
    const inLogs = logs.filter((line) => formsOf(MARKER).some((form) => line.includes(form)));
    const inFiles = [filesWith(folder, MARKER), filesWith(files, MARKER)];
    figures[when] =
      `${redis.keys} keys, ${logs.length} lines, ${inFiles[0]!.files + inFiles[1]!.files} files`;
    expect({
      columns: await plainColumns(client, MARKER),
      keys: redis.found,
      lines: inLogs,
      files: inFiles.flatMap(({ found }) => found),
    }).toEqual({ columns: [], keys: [], lines: [], files: [] });
    expect(sealed.unsealed.filter((column) => !DIGESTS.includes(column))).toEqual([]);
    return sealed.words;
  }

  /** Another word than that of the rest: it stays in the files of Postgres. */
  test('the search finds what is there, in its forms', async () => {
    const other = `other${randomBytes(8).toString('hex')}`;
    const { settings, folder } = stage.gateway;
    const redis = createClient({ url: settings.redisUrl });
    await redis.connect();
    for (const form of formsOf(`..${other}..`).slice(0, 3)) {
      await client.query(`UPDATE webhook_endpoints SET description = $1`, [form]);
      expect(await plainColumns(client, other)).toEqual(['webhook_endpoints.description']);
      await redis.xAdd('stream', '*', { field: form });
      expect((await redisKeys(settings.redisUrl, other)).found).toEqual(['stream']);
      await redis.del('stream');
    }
    await redis.close();
    await client.query(`UPDATE webhook_endpoints SET description = ''`);
    await client.query('CHECKPOINT');
    expect(filesWith(folder, other).found).not.toEqual([]);
  });

  test('accepted: sealed beside the message', async () => {
    await stage.gateway.network.setRule({ hold: true });
    await send(1, { type: 'text', text: { body: say('text') } });
    await send(2, {
      type: 'interactive',
      interactive: { body: say('body'), buttons: [{ type: 'reply', id: 'a', label: say('label') }] },
    });
    const options = [
      { id: 'a', label: say('option') },
      { id: 'b', label: 'no' },
    ];
    await send(3, { type: 'poll', poll: { name: say('question'), options, selectable: 1 } });
    await sendFile(5);
    await until(async () => (await stage.gateway.network.count()) >= 4, { what: 'four are at the network' });
    expect(await look('accepted')).toEqual({
      'media.filename_sealed': ['filename'],
      'menus.options_sealed': ['label', 'option'],
      'message_contents.content_sealed': [
        'body',
        'caption',
        'filename',
        'label',
        'option',
        'question',
        'text',
      ],
      'message_contents.built_sealed': ['body', 'caption', 'filename', 'label', 'option', 'question', 'text'],
    });
  });

  test('sent, and something has come in', async () => {
    await stage.gateway.network.setRule({});
    await settle(stage.witnesses);
    await hear(4, say('inbound'));
    await hear(2, say('label'));
    const [edited] = await stage.customer.client.messages({ to: testPhone(1) });
    await stage.customer.client.expect(200, 'PATCH', `/v1/messages/${edited!.id}`, {
      body: { text: say('edited') },
    });
    await settle(stage.witnesses);
    expect(await look('sent')).toEqual({
      'events.data_sealed': ['edited', 'inbound', 'label'],
      'media.filename_sealed': ['filename'],
      'menus.options_sealed': ['label', 'option'],
      'message_contents.content_sealed': [
        'body',
        'caption',
        'edited',
        'filename',
        'label',
        'option',
        'question',
      ],
      'message_contents.built_sealed': ['body', 'caption', 'filename', 'label', 'option', 'question', 'text'],
    });
  });

  test('24 hours later', async () => {
    await older(`message_contents SET delete_at = delete_at - interval '24 hours'`);
    await older(`menus SET delete_at = delete_at - interval '25 hours'`);
    await older(`idempotency_records SET expires_at = expires_at - interval '24 hours'`);
    await older(`mass_sends SET at = at - interval '24 hours'`);
    const left = async (): Promise<number[]> => [
      await count('message_contents'),
      await count('idempotency_records'),
      await count('menus'),
    ];
    // Of the menus the poll stays.
    await until(async () => (await left()).join() === '0,0,1', {
      what: 'the worker has removed what was for a day',
    });
    // What came in and edits are events, for 90 days; so long count votes. A file is kept for 30.
    expect(await look('24 h later')).toEqual({
      'events.data_sealed': ['edited', 'inbound', 'label'],
      'media.filename_sealed': ['filename'],
      'menus.options_sealed': ['option'],
    });
  });

  test('90 days later', async () => {
    for (const table of ['events', 'messages', 'webhook_deliveries']) {
      await client.query(`SELECT gwk_ensure_partitions($1, current_date - 92, current_date - 90)`, [table]);
      await older(`${table} SET id = ${shifted('id')}`);
    }
    await older(`menus SET delete_at = delete_at - interval '91 days'`);
    await older(
      `media SET created_at = created_at - interval '91 days', expires_at = expires_at - interval '91 days'`,
    );
    await stage.gateway.workers[0]!.kill('SIGTERM');
    for (const table of ['events', 'menus', 'media', 'messages', 'webhook_deliveries'])
      await until(async () => (await count(table)) === 0, {
        what: `the worker has dropped what was for 90 days from ${table}`,
      });
    expect(await look('90 days later')).toEqual({});
    await until(() => filesWith(join(files, 'media'), MARKER).files === 0, { what: 'no file is left' });
  });

  const older = (change: string) => client.query(`UPDATE ${change}`);
  const count = async (table: string) =>
    (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;
  const shifted = (column: string) => idOlder(column, 91);
});

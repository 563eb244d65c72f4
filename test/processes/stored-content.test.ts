import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromPublicId } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import type { MessageOut } from '@gwk/core/resources/message';
import pg from 'pg';
import { createClient } from 'redis';
import { filesWith, formsOf, plainColumns, redisKeys, sealedColumns, type SealedContent } from './search.js';
import { idOlder } from '../support/servers/dated-ids.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report, settle } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

/** Part of every text of this test. Each text adds a word of its own. */
const MARKER = `mk${randomBytes(6).toString('hex')}`;
/** Finds those words in decrypted values. */
const PATTERN = new RegExp(`${MARKER}-([a-z]+)`, 'g');
const marked = (word: string): string => `${MARKER}-${word}`;

/** Columns of bytes that are not encrypted and reveal nothing: digests. */
const DIGESTS = [
  'api_keys.hash',
  'engine_tokens.hash',
  'idempotency_records.body_hash',
  'media.sha256',
  'decoded_files.sha256',
];

describe('stored content: place, encryption and retention', () => {
  let stage: Stage;
  let client: pg.Client;
  let files: string;
  let figures: Record<string, string | number>;

  beforeAll(async () => {
    files = mkdtempSync(join(tmpdir(), 'gwk-files-'));
    mkdirSync(join(files, 'media'));
    const settings = { GWK_LOG_LEVEL: 'debug', GWK_MEDIA_FOLDER: join(files, 'media') };
    stage = await openStage('stored content', {
      settings: { api: settings, worker: settings, operator: { GWK_LOG_LEVEL: 'debug' } },
      ownPostgres: true,
      ownRedis: true,
    });
    client = new pg.Client({ connectionString: stage.gateway.settings.databaseUrl });
    await client.connect();
    figures = {};
  });
  afterAll(async () => {
    report('searches for the marker', figures ?? {});
    await client?.end();
    await stage?.close();
    rmSync(files, { recursive: true, force: true });
  });

  const send = (phone: number, content: Record<string, unknown>): Promise<MessageOut> =>
    stage.customer.client.expect(202, 'POST', '/v1/messages', {
      body: { instance_id: stage.instance.id, to: testPhone(phone), ...content },
      headers: { 'idempotency-key': `key-${phone}` },
    });
  const receiveFrom = (phone: number, text: string): Promise<unknown> =>
    stage.customer.client.expect(200, 'POST', `/v1/instances/${stage.instance.id}/sandbox/inbound`, {
      body: { from: testPhone(phone), text },
    });

  async function sendFile(phone: number): Promise<void> {
    const filename = `${marked('filename')}.txt`;
    const form =
      `--b\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\n` +
      `content-type: text/plain\r\n\r\n${`${marked('content')}\n`.repeat(1_000)}\r\n--b--\r\n`;
    const { id } = await stage.customer.client.expect<{ id: string }>(201, 'POST', '/v1/media', {
      body: Buffer.from(form),
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    await send(phone, {
      type: 'document',
      document: { media: { media_id: id }, caption: marked('caption') },
    });
  }

  /** Fails if the marker is stored unencrypted anywhere. @returns the words of each encrypted column */
  async function search(when: string): Promise<SealedContent['words']> {
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

  /** Uses another marker, because it stays in the files of Postgres. */
  test('finds a marker in all its forms', async () => {
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

  test('encrypts the content of accepted messages beside them', async () => {
    await stage.gateway.network.setRule({ hold: true });
    await send(1, { type: 'text', text: { body: marked('text') } });
    await send(2, {
      type: 'interactive',
      interactive: { body: marked('body'), buttons: [{ type: 'reply', id: 'a', label: marked('label') }] },
    });
    const options = [
      { id: 'a', label: marked('option') },
      { id: 'b', label: 'no' },
    ];
    await send(3, { type: 'poll', poll: { name: marked('question'), options, selectable: 1 } });
    await sendFile(5);
    await until(async () => (await stage.gateway.network.count()) >= 4, {
      what: 'four messages are at the network',
    });
    expect(await search('accepted')).toEqual({
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

  test('encrypts the content of sent and inbound messages', async () => {
    await stage.gateway.network.setRule({});
    await settle(stage.witnesses);
    await receiveFrom(4, marked('inbound'));
    await receiveFrom(2, marked('label'));
    const [edited] = await stage.customer.client.messages({ to: testPhone(1) });
    await stage.customer.client.expect(200, 'PATCH', `/v1/messages/${edited!.id}`, {
      body: { text: marked('edited') },
    });
    await settle(stage.witnesses);
    expect(await search('sent')).toEqual({
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

  test('removes message content after 24 hours', async () => {
    await older(`message_contents SET delete_at = delete_at - interval '24 hours'`);
    await older(`menus SET delete_at = delete_at - interval '25 hours'`);
    await older(`idempotency_records SET expires_at = expires_at - interval '24 hours'`);
    await older(`mass_sends SET at = at - interval '24 hours'`);
    const left = async (): Promise<number[]> => [
      await count('message_contents'),
      await count('idempotency_records'),
      await count('menus'),
    ];
    // The menu of the poll stays.
    await until(async () => (await left()).join() === '0,0,1', {
      what: 'the worker has removed expired rows',
    });
    // Inbound messages and edits are events for 90 days. Votes count for the same time. A file is kept for 30 days.
    expect(await search('24 h later')).toEqual({
      'events.data_sealed': ['edited', 'inbound', 'label'],
      'media.filename_sealed': ['filename'],
      'menus.options_sealed': ['option'],
    });
  });

  test('removes events, menus and files after 90 days', async () => {
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
        what: `the worker has dropped expired rows of ${table}`,
      });
    expect(await search('90 days later')).toEqual({});
    await until(() => filesWith(join(files, 'media'), MARKER).files === 0, { what: 'no file is left' });
  });

  const older = (change: string) => client.query(`UPDATE ${change}`);
  const count = async (table: string) =>
    (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;
  const shifted = (column: string) => idOlder(column, 91);
});

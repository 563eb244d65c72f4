import { readFileSync } from 'node:fs';
import type { SessionEntry } from '@gwk/core/protocol/engine';
import { BaileysDriver } from '@gwk/engine-pod/driver/baileys/driver';
import type { ConnectionEvent, DriverContext } from '@gwk/engine-pod/driver/driver';
import { BatchSender } from '@gwk/engine-pod/batch-sender';
import { keepHeapSmall } from '@gwk/engine-pod/small-heap';
import { NetworkClient } from '@gwk/network/control/client';
import type { Whereabouts } from '@gwk/network/program';
import pg from 'pg';
import { createClient } from 'redis';
import { NEVER_ABORTED, QR, Rows } from '../../support/engine/simulated-instance.js';

/** Program argument. */
export interface FloorEngineOptions {
  whereabouts: Whereabouts;
  number: string;
  databaseUrl: string;
  redisUrl: string;
  stream: string;
}

/**
 * The engine of the floor: the driver and the heap of gwk, and of the rest only what its promises need. It reads texts from
 * a stream, stores what it built and each step of the ratchet before the stanza leaves, keeps the order of each
 * conversation, and stores outcomes and receipts. It writes to Postgres itself and checks, encrypts and reports nothing.
 */
keepHeapSmall();
const options = JSON.parse(process.argv[2]!) as FloorEngineOptions;
const { whereabouts, stream } = options;
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 4 });
await pool.query(`
  CREATE TABLE session_keys (type text, key text, value bytea, PRIMARY KEY (type, key));
  CREATE TABLE built (message_id text PRIMARY KEY, built bytea NOT NULL);
  CREATE TABLE outcomes (wa_message_id text, kind text, PRIMARY KEY (wa_message_id, kind))`);
const redis = await createClient({ url: options.redisUrl }).connect();

const run = (name: string, text: string, values: unknown[]): Promise<unknown> =>
  pool.query({ name, text, values });

class StoredRows extends Rows {
  override async write(entries: SessionEntry[]): Promise<void> {
    await super.write(entries);
    const values = entries.map(({ value }) => (value === null ? null : Buffer.from(value, 'base64')));
    const statement = `
      INSERT INTO session_keys SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])
      ON CONFLICT (type, key) DO UPDATE SET value = excluded.value`;
    await run('session', statement, [entries.map(({ type }) => type), entries.map(({ key }) => key), values]);
  }

  override context(): DriverContext {
    const storeReceipt: DriverContext['storeReceipt'] = ({ waMessageId }) =>
      outcomes.push({ id: waMessageId, kind: 'receipt' });
    return { ...super.context(), storeReceipt };
  }
}

const built = new BatchSender<{ id: string; bytes: Buffer }, void>({
  maxItems: 100,
  send: async (items) => {
    const statement = 'INSERT INTO built SELECT * FROM unnest($1::text[], $2::bytea[])';
    await run('built', statement, [items.map(({ id }) => id), items.map(({ bytes }) => bytes)]);
    return items.map(() => undefined);
  },
});
const outcomes = new BatchSender<{ id: string; kind: 'sent' | 'receipt' }, void>({
  maxItems: 200,
  send: async (items) => {
    const statement =
      'INSERT INTO outcomes SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING';
    await run('outcomes', statement, [items.map(({ id }) => id), items.map(({ kind }) => kind)]);
    return items.map(() => undefined);
  },
  mayLinger: ({ kind }) => kind === 'receipt',
});

const driver = new BaileysDriver(new StoredRows().context(), {
  url: whereabouts.url,
  root: whereabouts.root,
  ca: readFileSync(whereabouts.media_ca, 'utf8'),
  agents: null,
});

async function pair(): Promise<void> {
  const phone = await new NetworkClient(whereabouts.control).phone(options.number, { name: 'Floor' });
  await new Promise<void>((resolve) => {
    const hear = (event: ConnectionEvent): void => {
      if (event.kind === 'qr') void phone.scan(event.code);
      if (event.kind === 'opened') resolve();
      if (event.kind === 'closed') driver.connect(hear, null);
    };
    driver.connect(hear, QR);
  });
}

let count = 0;

async function send(id: string, to: string, text: string): Promise<void> {
  const chat = `${to}@s.whatsapp.net`;
  const waMessageId = `3EB0${String(++count).padStart(18, '0')}`;
  const message = {
    ...{ message_id: id, conversation_id: chat, chat, wa_message_id: waMessageId, type: 'text' },
    content: JSON.stringify({ type: 'text', text: JSON.parse(text) as unknown }),
    interactive_mode: 'native',
    ...{ quoted: null, built: null, rendered_as: null, attempted_at: null },
  } as const;
  const { bytes } = await driver.build(message);
  const stored = built.push({ id, bytes });
  // As the engine: the statement leaves before the encryption.
  await new Promise(setImmediate);
  await driver.send({ waMessageId, chat, bytes, stored, mayWrite: () => true, signal: NEVER_ABORTED });
  void outcomes.push({ id: waMessageId, kind: 'sent' });
}

async function readTexts(): Promise<never> {
  const conversations = new Map<string, Promise<void>>();
  for (let last = '0'; ;) {
    const streams = (await redis.xRead({ key: stream, id: last }, { BLOCK: 1_000, COUNT: 32 })) as
      { messages: { id: string; message: { id: string; to: string; p: string } }[] }[] | null;
    for (const { id, message } of streams?.[0]?.messages ?? []) {
      const before = conversations.get(message.to) ?? Promise.resolve();
      conversations.set(
        message.to,
        before.then(() => send(message.id, message.to, message.p)),
      );
      last = id;
    }
  }
}

await pair();
process.on('disconnect', () => process.exit(0));
process.send!({ ready: true });
await readTexts();

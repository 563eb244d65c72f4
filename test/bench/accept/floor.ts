import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { SENDS_MAXLEN } from '@gwk/core/protocol/redis-keys';
import pg from 'pg';
import { createClient } from 'redis';

/**
 * The floor: the cost of accepting a message without checks, encryption or ordering. Bare node:http, one prepared
 * statement per request for the message and the idempotency row, one XADD, the response. A repeated key writes nothing
 * and its response is marked as a replay.
 */
export interface FloorOptions {
  port: number;
  databaseUrl: string;
  redisUrl: string;
}

interface Body {
  instance_id: string;
  to: string;
  type: string;
  text: unknown;
}

const POOL = 16;
const TABLES = `
  CREATE TABLE messages (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL, instance_id TEXT NOT NULL, chat_id TEXT NOT NULL, type TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'queued', payload JSONB NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMPTZ(3) NOT NULL);
  CREATE INDEX ON messages (instance_id, created_at);
  CREATE TABLE idempotency (
    account_id TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL, message_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (account_id, key))`;
const WRITE = `
  WITH k AS (
    INSERT INTO idempotency (account_id, key, body_hash, message_id) VALUES ($2, $7, $8, $1)
    ON CONFLICT DO NOTHING RETURNING 1
  )
  INSERT INTO messages (id, account_id, instance_id, chat_id, type, payload, updated_at)
  SELECT $1, $2, $3, $4, $5, $6::jsonb, now() FROM k RETURNING id, created_at`;

const options = JSON.parse(process.argv[2]!) as FloorOptions;
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: POOL });
await pool.query(TABLES);
const redis = await createClient({ url: options.redisUrl }).connect();

async function accept(body: Body, key: string): Promise<{ text: string; replayed: boolean }> {
  const id = `msg_${randomBytes(16).toString('hex')}`;
  const payload = JSON.stringify(body.text);
  const hash = createHash('sha256').update(payload).digest('hex');
  const values = [id, 'account', body.instance_id, body.to, body.type, payload, key, hash];
  const { rowCount } = await pool.query({ name: 'write', text: WRITE, values });
  const replayed = rowCount === 0;
  if (!replayed) await enqueue(body.instance_id, { id, to: body.to, p: payload });
  return { text: answerTo(body, id), replayed };
}

const enqueue = (instance: string, fields: Record<string, string>): Promise<string> =>
  redis.xAdd(`floor:${instance}`, '*', fields, {
    TRIM: { strategy: 'MAXLEN', strategyModifier: '~', threshold: SENDS_MAXLEN },
  });

function answerTo(body: Body, id: string): string {
  return JSON.stringify({
    id,
    instance_id: body.instance_id,
    direction: 'outbound',
    to: body.to,
    type: body.type,
    status: 'queued',
    wa_message_id: null,
    rendered_as: null,
    error: null,
    created_at: new Date().toISOString(),
    sent_at: null,
    delivered_at: null,
    read_at: null,
    failed_at: null,
  });
}

const server = http.createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    void accept(body, String(req.headers['idempotency-key'])).then(({ text, replayed }) => {
      res.writeHead(202, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        ...(replayed && { 'Idempotent-Replayed': 'true' }),
      });
      res.end(text);
    });
  });
});
server.listen(options.port, '127.0.0.1');

// The benchmark that started this process has exited.
process.stdin.on('end', () => process.exit()).resume();

import pg from 'pg';
import { Agent, request } from 'undici';

/**
 * The floor: the cost of posting a delivery and recording it. No signature, no decryption, no lock, no isolation
 * between endpoints: a loop that posts, and one UPDATE per delivery.
 */
export interface FloorOptions {
  databaseUrl: string;
  /** Database connections, as many as a worker has. */
  pool: number;
  /** Calls in flight. */
  concurrency: number;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS deliveries (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), url text NOT NULL, body text NOT NULL, status text NOT NULL,
    attempts integer NOT NULL DEFAULT 0, last_status_code integer, last_latency_ms integer,
    created_at timestamptz NOT NULL DEFAULT now(), delivered_at timestamptz);
  CREATE INDEX IF NOT EXISTS deliveries_pending ON deliveries (created_at) WHERE status = 'pending'`;
const PENDING = `SELECT id, url, body FROM deliveries WHERE status = 'pending' ORDER BY created_at`;
const UPDATE = `
  UPDATE deliveries SET status = $2, attempts = attempts + 1, last_status_code = $3, last_latency_ms = $4,
    delivered_at = now() WHERE id = $1`;

interface Delivery {
  id: string;
  url: string;
  body: string;
}

const options = JSON.parse(process.argv[2]!) as FloorOptions;
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: options.pool });
const dispatcher = new Agent({ keepAliveTimeout: 60_000 });
await pool.query(TABLE);

async function deliver({ id, url, body }: Delivery): Promise<void> {
  const start = performance.now();
  const headers = { 'content-type': 'application/json', 'webhook-id': id };
  const answer = await request(url, { dispatcher, method: 'POST', headers, body });
  await answer.body.dump();
  const status = answer.statusCode < 300 ? 'succeeded' : 'failed';
  const latency = Math.round(performance.now() - start);
  await pool.query({ name: 'update', text: UPDATE, values: [id, status, answer.statusCode, latency] });
}

async function run(): Promise<void> {
  const { rows } = await pool.query<Delivery>(PENDING);
  let next = 0;
  const loop = async (): Promise<void> => {
    for (let mine = next++; mine < rows.length; mine = next++) await deliver(rows[mine]!);
  };
  await Promise.all(Array.from({ length: options.concurrency }, loop));
}

process.on('message', () => {
  run().then(
    () => process.send!({ done: true }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send!({ ready: true });

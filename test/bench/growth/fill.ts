import pg from 'pg';

/**
 * Months of sends, as gwk would have written them. Each contact has a conversation with one instance, with messages
 * spread over the retention time. Rows kept for a day (contents, idempotency, text counts) exist for the last day's
 * messages. Conversation `n` uses the phone number `PREFIX` and `FIRST + n`, and the instance `n` modulo their count.
 */
export const PREFIX = '55119';
export const FIRST = 80_000_000;
export const PER_CONTACT = 10;
const DAYS = 89;
/** Messages per statement. */
const STEP = 250_000;
const SEALED_BYTES = 300;

export interface Filling {
  databaseUrl: string;
  accountId: string;
  /** UUIDs. */
  instances: string[];
  messages: number;
  /** Index of the first conversation. */
  first?: number;
}

export async function fill({
  databaseUrl,
  accountId,
  instances,
  messages,
  first = 0,
}: Filling): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const contacts = Math.ceil(messages / PER_CONTACT);
  const run = (text: string, values: unknown[] = []) => client.query(text, values);
  try {
    await run(`SET statement_timeout = 0`);
    await run(`SET synchronous_commit = off`);
    await months(run);
    await run(
      `CREATE TEMP TABLE span AS
         SELECT now() - interval '${DAYS} days' AS start, interval '${DAYS} days' / ${messages} AS step`,
    );
    await people(run, { accountId, instances, contacts, first });
    for (let from = 0; from < messages; from += STEP) {
      const to = Math.min(messages, from + STEP) - 1;
      await sends(run, { accountId, instances, contacts, first, from, to });
    }
    await run('VACUUM (ANALYZE)');
    await run('CHECKPOINT');
  } finally {
    await client.end();
  }
}

/** Creates a partition for each day of the retention time, as months of use do. */
const months = (run: Run): Promise<unknown> =>
  run(
    `SELECT gwk_ensure_partitions('messages', (now() AT TIME ZONE 'UTC')::date - ${DAYS + 1}, (now() AT TIME ZONE 'UTC')::date)`,
  );

/** Creates an old database without messages, except one conversation's as in the filled one. */
export const makeOld = (given: Omit<Filling, 'messages'>): Promise<void> =>
  fill({ ...given, messages: PER_CONTACT });

/**
 * SQL of a v7 id of that time and number, without random bits. Inlined, because a function would be called for each
 * row.
 */
const idOf = (at: string, n: string): string =>
  `(lpad(to_hex(${millisecondsOf(at)}), 12, '0') || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`;

const millisecondsOf = (at: string): string => `(extract(epoch FROM ${at}) * 1000)::bigint`;

type Run = (text: string, values?: unknown[]) => Promise<unknown>;

interface People {
  accountId: string;
  instances: string[];
  contacts: number;
  first: number;
}

async function people(run: Run, { accountId, instances, contacts, first }: People): Promise<void> {
  const each = `FROM generate_series(0, ${contacts - 1}) AS n, span`;
  await run(`INSERT INTO contacts (id, account_id) SELECT ${idOf('start', 'n')}, $1::uuid ${each}`, [
    accountId,
  ]);
  await run(
    `INSERT INTO contact_names (account_id, name, contact_id)
     SELECT $1::uuid, '${PREFIX}' || (${FIRST + first} + n), ${idOf('start', 'n')} ${each}`,
    [accountId],
  );
  await run(
    `INSERT INTO conversations (id, instance_id, contact_id, last_seq, first_sent_at, first_sent_no, days)
     SELECT ${idOf('start', 'n')}, ($1::uuid[])[1 + (${first} + n) % ${instances.length}], ${idOf('start', 'n')}, ${PER_CONTACT},
       start + n * interval '1 millisecond', 1 + n / ${instances.length},
       ARRAY(SELECT DISTINCT (${millisecondsOf(`(start + (n + turn * ${contacts}) * step)`)} / 86400000)::integer
         FROM generate_series(0, ${PER_CONTACT - 1}) AS turn ORDER BY 1) ${each}`,
    [instances],
  );
  await run(`UPDATE instance_counters SET new_contacts = ${Math.ceil(contacts / instances.length)}`);
}

interface Part extends People {
  from: number;
  to: number;
}

async function sends(run: Run, { accountId, instances, contacts, first, from, to }: Part): Promise<void> {
  const each = `FROM generate_series(${from}, ${to}) AS n, span`;
  const at = `(start + n * step)`;
  const instance = `($1::uuid[])[1 + (${first} + n % ${contacts}) % ${instances.length}]`;
  const lastDay = `${at} > now() - interval '23 hours'`;
  await run(
    `INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
       created_at, sent_at, delivered_at, read_at, updated_at)
     SELECT ${idOf(at, 'n')}, $2::uuid, ${instance}, ${idOf('start', `n % ${contacts}`)}, 'outbound',
       '${PREFIX}' || (${FIRST + first} + n % ${contacts}), 'text', 'read', '3EB0' || upper(left(md5(n::text), 18)),
       ${at}, ${at}, ${at}, ${at}, ${at} ${each}`,
    [instances, accountId],
  );
  await run(
    `INSERT INTO message_contents (message_id, instance_id, content_sealed, delete_at)
     SELECT ${idOf(at, 'n')}, ${instance}, decode(repeat(md5(n::text), ${Math.ceil(SEALED_BYTES / 16)}), 'hex'),
       ${at} + interval '24 hours' ${each} WHERE ${lastDay}`,
    [instances],
  );
  await run(
    `INSERT INTO idempotency_records (id, body_hash, resource_id, status, expires_at)
     SELECT gen_random_uuid(), decode(md5(n::text), 'hex'), ${idOf(at, 'n')}, 202, ${at} + interval '24 hours'
     ${each} WHERE ${lastDay}`,
  );
  await run(
    `INSERT INTO mass_sends (fingerprint, contact_id, at)
     SELECT md5(${instance}::text || (n % 1250)::text)::uuid, ${idOf('start', `n % ${contacts}`)}, ${at} ${each}
     WHERE ${lastDay} ON CONFLICT DO NOTHING`,
    [instances],
  );
}

import pg from 'pg';

/** Contents of a large account: all of it written by SQL, spread evenly over `days`. */
export interface LargeAccount {
  databaseUrl: string;
  accountId: string;
  instances: number;
  messages: number;
  days: number;
  /** Conversations of the first instance, beside one of each instance (default: none). */
  conversations?: number;
}

/** One delivery for each of so many messages. */
const MESSAGES_PER_DELIVERY = 5;
/** Messages per statement. */
const STEP = 250_000;

/** SQL of a v7 id of that time and number. */
const idOf = (at: string, n: string): string =>
  `(lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const instanceOf = (n: string): string => idOf('start', `${n} + 1`);

export async function fillLargeAccount(given: LargeAccount): Promise<void> {
  const client = new pg.Client({ connectionString: given.databaseUrl });
  await client.connect();
  try {
    await client.query(`SET statement_timeout = 0; SET synchronous_commit = off`);
    await client.query(
      `CREATE TEMP TABLE span AS SELECT now() - interval '${given.days} days' AS start,
         interval '${given.days} days' / ${given.messages} AS step`,
    );
    for (const table of ['messages', 'events', 'webhook_deliveries']) {
      await client.query(
        `SELECT gwk_ensure_partitions('${table}', (now() AT TIME ZONE 'UTC')::date - ${given.days + 1},
           (now() AT TIME ZONE 'UTC')::date + 1)`,
      );
    }
    await addInstances(client, given);
    for (let from = 0; from < given.messages; from += STEP) {
      await addMessages(client, given, from, Math.min(given.messages, from + STEP) - 1);
    }
    await addConversations(client, given);
    await client.query('VACUUM (ANALYZE)');
  } finally {
    await client.end();
  }
}

async function addInstances(client: pg.Client, { accountId, instances }: LargeAccount): Promise<void> {
  const each = `FROM generate_series(0, ${instances - 1}) AS n, span`;
  await client.query(
    `INSERT INTO instances (id, account_id, name, kind, environment, interactive_mode, resource_namespace, resource_name,
       resource_uid, resource_generation, state, state_changed_at, command_key_sealed, created_at)
     SELECT ${instanceOf('n')}, $1, 'Number ' || n, 'web', 'production', 'native+text', 'large', 'number-' || n, 'u' || n, 1,
       CASE WHEN n % 50 = 0 THEN 'disconnected' ELSE 'connected' END, start, '', start ${each}`,
    [accountId],
  );
  await client.query(
    `INSERT INTO instance_counters (instance_id) SELECT ${instanceOf('n')} ${each} ON CONFLICT DO NOTHING`,
  );
  // One contact for each number, with a message that waits.
  await client.query(`INSERT INTO contacts (id, account_id) SELECT ${instanceOf('n')}, $1 ${each}`, [
    accountId,
  ]);
  await client.query(
    `INSERT INTO contact_names (account_id, name, contact_id) SELECT $1, '551198' || (1000000 + n), ${instanceOf('n')} ${each}`,
    [accountId],
  );
  await client.query(
    `INSERT INTO conversations (id, instance_id, contact_id, last_seq, first_sent_at, first_sent_no)
     SELECT ${instanceOf('n')}, ${instanceOf('n')}, ${instanceOf('n')}, 10, start, 1 ${each}`,
  );
  await client.query(
    `INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, head, head_since, offline_ms_at_start, created_at)
     SELECT gen_random_uuid(), ${instanceOf('n')}, ${instanceOf('n')}, seq, 'waiting', seq = 1,
       CASE WHEN seq = 1 THEN now() END, 0, now()
     FROM generate_series(0, ${instances - 1}) AS n, generate_series(1, 10) AS seq, span`,
  );
  await client.query(
    `INSERT INTO webhook_endpoints (id, account_id, url, event_types, header_names)
     SELECT ${idOf('start', '1')}, $1, 'https://example.org/hook', '{}', '{}' FROM span`,
    [accountId],
  );
}

async function addMessages(client: pg.Client, given: LargeAccount, from: number, to: number): Promise<void> {
  const each = `FROM generate_series(${from}, ${to}) AS n, span`;
  const at = '(start + n * step)';
  const instance = instanceOf(`n % ${given.instances}`);
  await client.query(
    `INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
       created_at, sent_at, delivered_at, read_at, failed_at, updated_at)
     SELECT ${idOf(at, 'n')}, $1, ${instance}, ${instance}, CASE WHEN n % 4 = 0 THEN 'inbound' ELSE 'outbound' END,
       '551198' || (1000000 + n % ${given.instances}), CASE WHEN n % 1000 = 0 THEN 'image' ELSE 'text' END,
       CASE WHEN n % 97 = 1 THEN 'failed' ELSE 'read' END, '3EB0' || upper(left(md5(n::text), 18)),
       ${at}, CASE WHEN n % 97 <> 1 THEN ${at} END, CASE WHEN n % 97 <> 1 THEN ${at} END,
       CASE WHEN n % 97 <> 1 THEN ${at} END, CASE WHEN n % 97 = 1 THEN ${at} END, ${at} ${each}`,
    [given.accountId],
  );
  await client.query(
    `INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event_id, instance_id, event_type, status, attempts, created_at)
     SELECT ${idOf(at, 'n')}, $1, ${idOf('start', '1')}, ${idOf(at, 'n')}, ${instance}, 'message.sent',
       CASE WHEN n % 3 = 0 THEN 'failed' ELSE 'succeeded' END, 1, ${at} ${each} WHERE n % ${MESSAGES_PER_DELIVERY} = 0`,
    [given.accountId],
  );
}

/** Contacts with names and phone numbers, each with one message. Half of them has a LID. */
async function addConversations(client: pg.Client, given: LargeAccount): Promise<void> {
  await client.query(
    `UPDATE conversations v SET last_message_id = (
       SELECT m.id FROM messages m WHERE m.conversation_id = v.id
       ORDER BY m.conversation_id DESC, gwk_id_bucket_4s(m.id) DESC, m.id DESC LIMIT 1)`,
  );
  const { accountId, conversations = 0 } = given;
  const each = `FROM generate_series(1, ${conversations}) AS n, span`;
  const at = `(start + n * interval '${given.days} days' / ${conversations + 1})`;
  const [id, phone] = [idOf(at, `${1e9} + n`), `'5521' || (900000000 + n)`];
  await client.query(
    `INSERT INTO contacts (id, account_id, name) SELECT ${id}, $1, 'Contact ' || md5(n::text) ${each}`,
    [accountId],
  );
  await client.query(
    `INSERT INTO contact_names (account_id, name, contact_id, phone) SELECT $1, ${phone}, ${id}, ${phone} ${each}`,
    [accountId],
  );
  await client.query(
    `INSERT INTO contact_names (account_id, name, contact_id)
     SELECT $1, (200000000000 + n) || '@lid', ${id} ${each} WHERE n % 2 = 0`,
    [accountId],
  );
  await client.query(
    `INSERT INTO conversations (id, instance_id, contact_id, lid, phone, unread, last_message_id, days)
     SELECT ${id}, ${instanceOf('0')}, ${id}, CASE WHEN n % 2 = 0 THEN (200000000000 + n) || '@lid' END,
       CASE WHEN n % 2 = 0 THEN ${phone} END, n % 5, ${id}, ARRAY[gwk_id_day(${id})] ${each}`,
  );
  await client.query(
    `INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, created_at, updated_at)
     SELECT ${id}, $1, ${instanceOf('0')}, ${id}, 'inbound', ${phone}, 'text', 'delivered', ${at}, ${at} ${each}`,
    [accountId],
  );
}

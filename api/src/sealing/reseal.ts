import { SealError, type Sealer } from '@gwk/core/sealing';
import type { Database } from '../database.js';

/**
 * The end of a rotation: what former keys have sealed is sealed with the present one, after which they can be thrown
 * away. It may be stopped and begun again at any time, beside a gateway that works: a value is exchanged only while it
 * is still the one that was read. Files of the media store need nothing: each has a key of its own, sealed in its row.
 */
export interface SealedColumn {
  table: string;
  column: string;
  /** Columns that name a row, with their types. */
  key: readonly (readonly [name: string, type: 'uuid' | 'text'])[];
  /** SQL: the instance or account that it is sealed for (core/src/sealing.ts). */
  scope: string;
  /** SQL: the column in whose name it is sealed, where that is another one. */
  as?: string;
}

const ID = [['id', 'uuid']] as const;
const INSTANCE = [['instance_id', 'uuid']] as const;
const MESSAGE = [['message_id', 'uuid']] as const;

export const SEALED: readonly SealedColumn[] = [
  { table: 'instances', column: 'command_key_sealed', key: ID, scope: 't.id' },
  {
    table: 'session_keys',
    column: 'value_sealed',
    key: [...INSTANCE, ['type', 'text'], ['key', 'text']],
    scope: 't.instance_id',
  },
  { table: 'pairing_sessions', column: 'phone_sealed', key: INSTANCE, scope: 't.instance_id' },
  { table: 'pairing_sessions', column: 'code_sealed', key: INSTANCE, scope: 't.instance_id' },
  {
    table: 'expiring_codes',
    column: 'after_sealed',
    key: ID,
    scope: 't.account_id',
    as: `CASE WHEN t.event_id IS NULL THEN 'idempotency_records.response_sealed' ELSE 'events.data_sealed' END`,
  },
  { table: 'message_contents', column: 'content_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'message_contents', column: 'built_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'menus', column: 'options_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'media', column: 'filename_sealed', key: ID, scope: 't.account_id' },
  { table: 'media', column: 'key_sealed', key: ID, scope: 't.account_id' },
  {
    table: 'idempotency_records',
    column: 'response_sealed',
    key: ID,
    scope: 't.account_id',
  },
  { table: 'events', column: 'data_sealed', key: ID, scope: 't.account_id' },
  {
    table: 'webhook_secrets',
    column: 'secret_sealed',
    key: ID,
    scope: '(SELECT e.account_id FROM webhook_endpoints e WHERE e.id = t.endpoint_id)',
  },
  { table: 'webhook_deliveries', column: 'last_response_sealed', key: ID, scope: 't.account_id' },
];

/** How many values each key has sealed, by its id. */
export async function sealingStatus(
  db: Database,
  sealer: Sealer,
): Promise<{ current: string; rows: Record<string, number> }> {
  const rows: Record<string, number> = {};
  for (const { table, column } of SEALED) {
    const counts = await db.$queryRawUnsafe<{ key: string; amount: number }[]>(
      `SELECT encode(substring(${column} FROM 1 FOR 8), 'hex') AS key, count(*)::int AS amount
       FROM ${table} WHERE ${column} IS NOT NULL GROUP BY 1`,
    );
    for (const { key, amount } of counts) rows[key] = (rows[key] ?? 0) + amount;
  }
  return { current: sealer.keys[0]!.id, rows };
}

export interface Resealed {
  resealed: number;
  /** Values that a former key has sealed since: some program still has it in front. */
  left: number;
  /** Ids of the keys that nothing needs any more. */
  retired: string[];
}

const AT_ONCE = 500;

export interface ResealOptions {
  atOnce?: number;
  /** For tests: what others do before the last look. */
  beforeLastLook?: () => Promise<void>;
}

/** @throws SealError where a value was sealed with a key that is not configured */
export async function reseal(db: Database, sealer: Sealer, options: ResealOptions = {}): Promise<Resealed> {
  let resealed = 0;
  for (const column of SEALED) resealed += await resealColumn(db, sealer, column, options.atOnce ?? AT_ONCE);
  await options.beforeLastLook?.();
  const { current, rows } = await sealingStatus(db, sealer);
  const others = Object.entries(rows).filter(([key]) => key !== current);
  const left = others.reduce((sum, [, amount]) => sum + amount, 0);
  if (left > 0) return { resealed, left, retired: [] };
  const former = await db.keyCheck.findMany({ where: { keyId: { not: current } } });
  await db.keyCheck.deleteMany({ where: { keyId: { in: former.map(({ keyId }) => keyId) } } });
  return { resealed, left, retired: former.map(({ keyId }) => keyId) };
}

type Row = { names: string[]; scope: string; column: string; value: Uint8Array };

/** Rows in the order of their key, so that none is looked at twice. */
async function resealColumn(
  db: Database,
  sealer: Sealer,
  sealed: SealedColumn,
  atOnce: number,
): Promise<number> {
  let amount = 0;
  let after: string[] | undefined;
  do {
    const rows = await readFormer(db, sealer, sealed, { after, atOnce });
    for (const row of rows) {
      const plain = openOrSay(sealer, row);
      amount += await exchange(db, sealed, row, sealer.seal(row.scope, row.column, plain));
    }
    after = rows.length === atOnce ? rows.at(-1)!.names : undefined;
  } while (after);
  return amount;
}

function openOrSay(sealer: Sealer, { scope, column, value, names }: Row): Buffer {
  try {
    return sealer.open(scope, column, value);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new SealError(`${error.message} (row ${names.join(' ')})`);
  }
}

function readFormer(
  db: Database,
  sealer: Sealer,
  { table, column, key, scope, as = `'${table}.${column}'` }: SealedColumn,
  { after, atOnce }: { after: string[] | undefined; atOnce: number },
): Promise<Row[]> {
  const names = key.map(([name]) => `t.${name}`);
  const bounds = key.map(([, type], index) => `$${index + 2}::${type}`);
  const beyond = after ? `AND (${names.join(', ')}) > (${bounds.join(', ')})` : '';
  return db.$queryRawUnsafe<Row[]>(
    `SELECT ARRAY[${names.map((name) => `${name}::text`).join(', ')}] AS names, (${scope})::text AS scope,
       ${as} AS column, t.${column} AS value
     FROM ${table} t
     WHERE t.${column} IS NOT NULL AND substring(t.${column} FROM 1 FOR 8) <> $1 ${beyond}
     ORDER BY ${names.join(', ')} LIMIT ${atOnce}`,
    Buffer.from(sealer.keys[0]!.id, 'hex'),
    ...(after ?? []),
  );
}

function exchange(
  db: Database,
  { table, column, key }: SealedColumn,
  { names, value }: Row,
  fresh: Buffer,
): Promise<number> {
  const where = key.map(([name, type], index) => `${name} = $${index + 3}::${type}`);
  return db.$executeRawUnsafe(
    `UPDATE ${table} SET ${column} = $1::bytea WHERE ${column} = $2::bytea AND ${where.join(' AND ')}`,
    fresh,
    value,
    ...names,
  );
}

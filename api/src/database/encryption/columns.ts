/** An encrypted column of the database. */
export interface SealedColumn {
  table: string;
  column: string;
  /** Key columns with their types. */
  key: readonly (readonly [name: string, type: 'uuid' | 'text'])[];
  /** SQL of the instance or account in the encryption context (core/src/crypto/encryption.ts). */
  scope: string;
  /** SQL of the column name in the encryption context, if it is another column. */
  as?: string;
}

const ID = [['id', 'uuid']] as const;
const INSTANCE = [['instance_id', 'uuid']] as const;
const MESSAGE = [['message_id', 'uuid']] as const;

export const SEALED: readonly SealedColumn[] = [
  { table: 'instances', column: 'command_key_sealed', key: ID, scope: 't.id' },
  { table: 'users', column: 'totp_sealed', key: ID, scope: 't.id' },
  {
    table: 'session_keys',
    column: 'value_sealed',
    key: [...INSTANCE, ['type', 'text'], ['key', 'text']],
    scope: 't.instance_id',
  },
  { table: 'pairing_sessions', column: 'phone_sealed', key: INSTANCE, scope: 't.instance_id' },
  { table: 'pairing_sessions', column: 'code_sealed', key: INSTANCE, scope: 't.instance_id' },
  { table: 'pairing_sessions', column: 'passkey_sealed', key: INSTANCE, scope: 't.instance_id' },
  {
    table: 'expiring_codes',
    column: 'replacement_sealed',
    key: ID,
    scope: 't.account_id',
    as: `CASE WHEN t.event_id IS NULL THEN 'idempotency_records.response_sealed' ELSE 'events.data_sealed' END`,
  },
  { table: 'message_contents', column: 'content_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'message_contents', column: 'built_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'message_cards', column: 'card_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'menus', column: 'options_sealed', key: MESSAGE, scope: 't.instance_id' },
  { table: 'media', column: 'filename_sealed', key: ID, scope: 't.account_id' },
  { table: 'media', column: 'key_sealed', key: ID, scope: 't.account_id' },
  { table: 'decoded_files', column: 'answer_sealed', key: ID, scope: 't.account_id' },
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
  { table: 'webhook_endpoints', column: 'headers_sealed', key: ID, scope: 't.account_id' },
  { table: 'webhook_deliveries', column: 'last_response_sealed', key: ID, scope: 't.account_id' },
];

import type { z } from 'zod';
import type { JsonSchema, SchemaBook } from './schema-book.js';

/** Examples by field name, for schemas that are plain strings. */
const BY_NAME: Readonly<Record<string, string>> = {
  name: 'Loja Centro',
  environment: 'production',
  jid: '5511987654321@s.whatsapp.net',
  lid: '201234567890123@lid',
  business_name: 'Loja Centro Ltda',
  phone: '5511987654321',
  phones: '+5511987654321',
  to: '5511987654321',
  from: '5511987654321',
  chat: '5511987654321',
  wa_message_id: '3EB0C767D097E9ECFE8D2C',
  wa_message_ids: '3EB0C767D097E9ECFE8D2C',
  node_id: 'ins-0199f3a27c1e7b04a1d25c3e8f902b67-4',
  url: 'https://example.com/hook',
  filename: 'catalog.pdf',
  mimetype: 'application/pdf',
  description: 'CRM',
  timezone: 'America/Sao_Paulo',
  month: '2026-11',
  start: '08:00',
  end: '18:00',
  title: 'Not found',
  detail: 'O recurso não existe.',
  label: 'Botões',
  keyword: 'SAIR',
  emoji: '👍',
  option_id: 'yes',
  contact_id: '5511987654321@s.whatsapp.net',
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  pairing_code: 'K3J9XW2P',
  media_id: 'med_0199f3a27c1e7b04a1d25c3e8f902b67',
  recommendations: 'Peça que os contatos salvem o número.',
  keywords: 'SAIR',
  resume_keywords: 'VOLTAR',
  type: 'https://docs.example.org/problems/not-found',
};

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T14:30:00.000Z',
  date: '2026-11-21',
  uri: 'https://example.com/files/catalog.pdf',
};

/**
 * Returns a valid example of a schema: its own (`.meta({ examples })`) or a generated one. A test finds schemas that need
 * their own.
 */
export function makeExample(schema: JsonSchema, book: SchemaBook, name = ''): unknown {
  const { $ref, examples, enum: values, anyOf, oneOf, allOf } = schema as z.core.JSONSchema.BaseSchema;
  if (examples) return examples[0];
  if ($ref !== undefined) return makeExample(book.resolve(schema), book, name);
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  if (values) return values[0];
  const choices = oneOf ?? anyOf;
  if (choices) return makeExample(choices[0]!, book, name);
  if (allOf) return Object.assign({}, ...allOf.map((part) => makeExample(part, book)));
  return ofType(schema, book, name);
}

function ofType(schema: z.core.JSONSchema.BaseSchema, book: SchemaBook, name: string): unknown {
  const { type, properties = {}, items, minimum = 0 } = schema;
  switch ([type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties).map(([key, part]) => [key, makeExample(part as JsonSchema, book, key)]),
      );
    case 'array':
      return [makeExample(items as JsonSchema, book, name)];
    case 'string':
      return ofString(schema, name);
    case 'integer':
    case 'number':
      return minimum;
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function ofString({ format, minLength, maxLength }: JsonSchema, name: string): string {
  const known = BY_FORMAT[format as string] ?? BY_NAME[name];
  if (known !== undefined) return known;
  const least = Math.max(Number(minLength ?? 0), 1);
  return 'example'.padEnd(least, '.').slice(0, Number(maxLength ?? Infinity));
}

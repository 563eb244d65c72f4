import { readFileSync } from 'node:fs';
import { selectFields, toColumn, toField } from './model-columns.js';

test('every column has the name of its field in snake case', () => {
  const schema = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
  const mapped = [...schema.matchAll(/^ {2}(\w+) .*@map\("(\w+)"\)/gm)].map(([, field, column]) => [
    field,
    column,
  ]);
  expect(mapped.length).toBeGreaterThan(100);
  expect(mapped.map(([field]) => [field, toColumn(field!)])).toEqual(mapped);
  expect(mapped.map(([, column]) => toField(column!))).toEqual(mapped.map(([field]) => field));
});

test('selects the fields of a row or of a composite value', () => {
  expect(selectFields(['id', 'sentAt'], '(f.message)').sql).toBe(
    '(f.message)."id" AS "id", (f.message)."sent_at" AS "sentAt"',
  );
});

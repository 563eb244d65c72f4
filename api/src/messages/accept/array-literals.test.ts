import { openDatabase, type Database } from '../../database.js';
import { createTestDatabase, type TestDatabase } from '@gwk/test/harness/database';
import { hexArray, plainArray, textArray } from './array-literals.js';

let store: TestDatabase;
let database: Database;
beforeAll(async () => {
  store = await createTestDatabase();
  database = openDatabase({ url: store.url, poolSize: 1, program: 'test' });
});
afterAll(async () => {
  await database.$disconnect();
  await store.drop();
});

const same = <T>(value: T): T => value;
const read = async (type: string, literal: string): Promise<unknown> => {
  const rows = await database.$queryRawUnsafe<{ value: unknown }[]>(`SELECT $1::${type}[] AS value`, literal);
  return rows[0]!.value;
};

test('text comes back as it went, whatever it holds', async () => {
  const values = [
    '',
    'NULL',
    'null',
    null,
    'a,b',
    '{}',
    '"',
    '\\',
    '\\"',
    "'",
    ' x ',
    'ção\n',
    '\\x41',
    '💬',
  ];
  expect(await read('text', textArray(values, same))).toEqual(values);
});

test('bytes come back as they went', async () => {
  const values = [Buffer.from([0, 34, 92, 255]), null, Buffer.from('null')];
  const rows = await database.$queryRawUnsafe<{ value: Uint8Array | null }[]>(
    `SELECT decode(hex, 'hex') AS value FROM unnest($1::text[]) WITH ORDINALITY AS q(hex, place) ORDER BY place`,
    hexArray(values, same),
  );
  expect(rows.map(({ value }) => value && Buffer.from(value))).toEqual(values);
});

test('numbers, booleans and nothing at all', async () => {
  expect(await read('integer', plainArray([1, null, -3], same))).toEqual([1, null, -3]);
  expect(await read('boolean', plainArray([true, false, null], same))).toEqual([true, false, null]);
  expect(await read('integer', plainArray<number>([], same))).toEqual([]);
});

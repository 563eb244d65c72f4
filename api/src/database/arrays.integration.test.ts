import { openDatabase, type Database } from './database.js';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { bytesArray, textArray } from './arrays.js';

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

test('any text is read back unchanged', async () => {
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

const readBytes = async (array: Buffer): Promise<(Buffer | null)[]> => {
  const [bytes] = await database.callFunction('SELECT $1::bytea[]', [array]);
  return bytes as (Buffer | null)[];
};

test('bytes are read back unchanged', async () => {
  const values = [Buffer.from([0, 34, 92, 255]), null, Buffer.from('null'), Buffer.alloc(0)];
  expect(await readBytes(bytesArray(values, same))).toEqual(values);
});

test('an array of NULLs is empty, and Postgres reads NULL beyond its end', async () => {
  expect(await read('integer', textArray<null>([null, null], same))).toEqual([]);
  expect(await read('text', textArray([null, null], same))).toEqual([]);
  expect(await readBytes(bytesArray([null, null], same))).toEqual([]);
  const beyond = await database.callFunction('SELECT ($1::bytea[])[2]', [bytesArray([null, null], same)]);
  expect(beyond).toEqual([null]);
});

test('numbers, booleans and empty arrays', async () => {
  expect(await read('integer', textArray([1, null, -3], same))).toEqual([1, null, -3]);
  expect(await read('boolean', textArray([true, false, null], same))).toEqual([true, false, null]);
  expect(await read('integer', textArray<number>([], same))).toEqual([]);
});

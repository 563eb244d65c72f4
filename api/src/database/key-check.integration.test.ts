import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from './database.js';
import { checkEncryptionKeys, WrongEncryptionKey } from './key-check.js';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 4, program: 'test' });
});
afterEach(() => db.keyCheck.deleteMany());
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

const newKey = () => randomBytes(32).toString('base64');
const check = (...keys: string[]) => checkEncryptionKeys(db, new Sealer(parseEncryptionKeys(keys.join(','))));
const first = newKey();
const second = newKey();

test('stores the first key and accepts it again', async () => {
  await Promise.all([check(first), check(first), check(first)]);
  await check(first);
  expect(await db.keyCheck.count()).toBe(1);
});

test('rejects another key and describes the fix', async () => {
  await check(first);
  await expect(check(second)).rejects.toThrow(WrongEncryptionKey);
  await expect(check(second)).rejects.toThrow(/GWK_ENCRYPTION_KEYS.*after it/);
});

test('accepts a new key before the old one, and then rejects the old one alone', async () => {
  await check(first);
  await check(second, first);
  await expect(check(first)).rejects.toThrow(WrongEncryptionKey);
  await check(first, second);
});

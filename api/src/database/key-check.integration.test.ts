import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys, Sealer } from '@gwk/core/encryption';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from './database.js';
import { checkSealingKeys, WrongSealingKey } from './key-check.js';

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
const check = (...keys: string[]) => checkSealingKeys(db, new Sealer(parseEncryptionKeys(keys.join(','))));
const first = newKey();
const second = newKey();

test('the first key is remembered, and the same one is right ever after', async () => {
  await Promise.all([check(first), check(first), check(first)]);
  await check(first);
  expect(await db.keyCheck.count()).toBe(1);
});

test('another key is refused, in words that say what to do', async () => {
  await check(first);
  await expect(check(second)).rejects.toThrow(WrongSealingKey);
  await expect(check(second)).rejects.toThrow(/GWK_ENCRYPTION_KEYS.*behind it/);
});

test('a new key in front of the old one is right; the old one alone is not, once the new one has sealed', async () => {
  await check(first);
  await check(second, first);
  await expect(check(first)).rejects.toThrow(WrongSealingKey);
  await check(first, second);
});

import { hash } from 'node:crypto';
import { newUuid } from '@gwk/core/ids';
import { KeyCache } from './key-cache.js';

const CAPACITY = 1_024;
const createId = (number: number) => hash('sha256', String(number), 'hex').slice(0, 32);
const BODY = Buffer.alloc(16, 1);

test('adds a key once', () => {
  const keys = new KeyCache(CAPACITY);
  expect([1, 2, 1, 2].map((number) => keys.add(createId(number)))).toEqual([true, true, false, false]);
});

test('finds no message for an unfinished or unknown key', () => {
  const keys = new KeyCache(CAPACITY);
  keys.add(createId(1));
  expect([1, 2].map((number) => keys.findMessage(createId(number), BODY))).toEqual([null, null]);
});

test('finds the message of each key by its body', () => {
  const keys = new KeyCache(CAPACITY);
  const made = Array.from({ length: 100 }, (_, number) => ({
    id: createId(number),
    body: Buffer.alloc(16, number),
    message: newUuid(),
  }));
  for (const { id, body, message } of made) {
    keys.add(id);
    keys.setMessage(id, body, message);
  }
  expect(made.map(({ id, body }) => keys.findMessage(id, body))).toEqual(made.map(({ message }) => message));
  expect(made.map(({ id }) => keys.findMessage(id, Buffer.alloc(16, 255)))).toEqual(made.map(() => null));
});

test('distinguishes ids that differ in one digit', () => {
  const keys = new KeyCache(CAPACITY);
  const id = createId(1);
  const others = Array.from(
    id,
    (digit, at) => id.slice(0, at) + (digit === '0' ? '1' : '0') + id.slice(at + 1),
  );
  expect([id, ...others].map((each) => keys.add(each))).toEqual([id, ...others].map(() => true));
});

test('keeps a key for a quarter of the capacity, and forgets it after four times the capacity', () => {
  const keys = new KeyCache(CAPACITY);
  const message = newUuid();
  const known = (number: number) => keys.findMessage(createId(number), BODY) === message;
  let [lost, kept] = [0, 0];
  for (let number = 0; number < 20 * CAPACITY; number++) {
    keys.add(createId(number));
    keys.setMessage(createId(number), BODY, message);
    if (number >= CAPACITY / 4 && !known(number - CAPACITY / 4)) lost++;
    if (number >= 4 * CAPACITY && known(number - 4 * CAPACITY)) kept++;
  }
  expect(lost).toBeLessThan(20 * CAPACITY * 0.005);
  expect(kept).toBeLessThan(20 * CAPACITY * 0.005);
});

test('spreads similar keys over the sets', () => {
  const keys = new KeyCache(CAPACITY);
  const alike = Array.from({ length: 100 }, (_, number) => '0'.repeat(24) + createId(number).slice(0, 8));
  for (const id of alike) keys.add(id);
  expect(alike.filter((id) => keys.add(id)).length).toBeLessThan(30);
});

test('hashes differently in each process', () => {
  const [one, other] = [new KeyCache(CAPACITY), new KeyCache(CAPACITY)];
  const ids = Array.from({ length: 4 * CAPACITY }, (_, number) => createId(number));
  const newToBoth = ids.map((id) => [one.add(id), other.add(id)]);
  expect(newToBoth).toEqual(ids.map(() => [true, true]));
  // Few sets would not do: with two, both processes forget the same keys in one of 24 runs.
  const keptIn = (keys: KeyCache) => ids.slice(-CAPACITY).filter((id) => !keys.add(id));
  expect(keptIn(one)).not.toEqual(keptIn(other));
});

test.each([0, 8, 12, 1_000])('rejects a capacity of %d', (capacity) => {
  expect(() => new KeyCache(capacity)).toThrow(RangeError);
});

test('finds no message for a key that was forgotten and added again', () => {
  const keys = new KeyCache(16);
  keys.add(createId(0));
  keys.setMessage(createId(0), BODY, newUuid());
  for (let number = 1; number <= 100; number++) keys.add(createId(number));
  keys.setMessage(createId(0), BODY, newUuid());
  expect(keys.findMessage(createId(0), BODY)).toBeNull();
  expect(keys.add(createId(0))).toBe(true);
  expect(keys.findMessage(createId(0), BODY)).toBeNull();
});

import { hash } from 'node:crypto';
import { newUuid } from '@gwk/core/ids';
import { KnownKeys } from './known-keys.js';

const CAPACITY = 1_024;
const idOf = (number: number) => hash('sha256', String(number), 'hex').slice(0, 32);
const BODY = Buffer.alloc(16, 1);

test('a key is new once', () => {
  const keys = new KnownKeys(CAPACITY);
  expect([1, 2, 1, 2].map((number) => keys.meet(idOf(number)))).toEqual([true, true, false, false]);
});

test('of a key that is under way no message is known, nor of one that was never met', () => {
  const keys = new KnownKeys(CAPACITY);
  keys.meet(idOf(1));
  expect([1, 2].map((number) => keys.messageOf(idOf(number), BODY))).toEqual([null, null]);
});

test('each key has the message that it made, by the body that made it', () => {
  const keys = new KnownKeys(CAPACITY);
  const made = Array.from({ length: 100 }, (_, number) => ({
    id: idOf(number),
    body: Buffer.alloc(16, number),
    message: newUuid(),
  }));
  for (const { id, body, message } of made) {
    keys.meet(id);
    keys.learn(id, body, message);
  }
  expect(made.map(({ id, body }) => keys.messageOf(id, body))).toEqual(made.map(({ message }) => message));
  expect(made.map(({ id }) => keys.messageOf(id, Buffer.alloc(16, 255)))).toEqual(made.map(() => null));
});

test('ids that differ in one digit only are two keys', () => {
  const keys = new KnownKeys(CAPACITY);
  const id = idOf(1);
  const others = Array.from(
    id,
    (digit, at) => id.slice(0, at) + (digit === '0' ? '1' : '0') + id.slice(at + 1),
  );
  expect([id, ...others].map((each) => keys.meet(each))).toEqual([id, ...others].map(() => true));
});

test('the newest quarter is known whatever came before, and what is older than four times the room is not', () => {
  const keys = new KnownKeys(CAPACITY);
  const message = newUuid();
  const known = (number: number) => keys.messageOf(idOf(number), BODY) === message;
  let [lost, kept] = [0, 0];
  for (let number = 0; number < 20 * CAPACITY; number++) {
    keys.meet(idOf(number));
    keys.learn(idOf(number), BODY, message);
    if (number >= CAPACITY / 4 && !known(number - CAPACITY / 4)) lost++;
    if (number >= 4 * CAPACITY && known(number - 4 * CAPACITY)) kept++;
  }
  expect(lost).toBeLessThan(20 * CAPACITY * 0.005);
  expect(kept).toBeLessThan(20 * CAPACITY * 0.005);
});

test('keys that look alike do not share a set', () => {
  const keys = new KnownKeys(CAPACITY);
  const alike = Array.from({ length: 100 }, (_, number) => '0'.repeat(24) + idOf(number).slice(0, 8));
  for (const id of alike) keys.meet(id);
  expect(alike.filter((id) => keys.meet(id)).length).toBeLessThan(30);
});

test('no other process has the same sets', () => {
  const [one, other] = [new KnownKeys(CAPACITY), new KnownKeys(CAPACITY)];
  const ids = Array.from({ length: 4 * CAPACITY }, (_, number) => idOf(number));
  const newToBoth = ids.map((id) => [one.meet(id), other.meet(id)]);
  expect(newToBoth).toEqual(ids.map(() => [true, true]));
  // Of few sets two processes forget the same by chance: of two, one time in twenty-four.
  const keptBy = (keys: KnownKeys) => ids.slice(-CAPACITY).filter((id) => !keys.meet(id));
  expect(keptBy(one)).not.toEqual(keptBy(other));
});

test.each([0, 8, 12, 1_000])('there is no room for %d', (capacity) => {
  expect(() => new KnownKeys(capacity)).toThrow(RangeError);
});

test('a key that comes again after it was forgotten has no message', () => {
  const keys = new KnownKeys(16);
  keys.meet(idOf(0));
  keys.learn(idOf(0), BODY, newUuid());
  for (let number = 1; number <= 100; number++) keys.meet(idOf(number));
  keys.learn(idOf(0), BODY, newUuid());
  expect(keys.messageOf(idOf(0), BODY)).toBeNull();
  expect(keys.meet(idOf(0))).toBe(true);
  expect(keys.messageOf(idOf(0), BODY)).toBeNull();
});

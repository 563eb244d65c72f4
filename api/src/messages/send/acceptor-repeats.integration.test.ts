import { newUuid } from '@gwk/core/ids';
import {
  createWorld,
  outcomeOf,
  someone,
  uuidOf,
  type Send,
  type World,
} from '@gwk/test/support/api/acceptance';
import { makeRecordId } from '../../http/idempotency/record-id.js';
import type { Acceptor } from './acceptor.js';
import { SEND_ROUTE } from './gather.js';

/** Repeats of what the same process has written: guessed to be such, and proved by the statement that writes. */
let world: World;
beforeAll(async () => (world = await createWorld()));
afterAll(() => world.close());

let acceptor: Acceptor;
let asked: string[];
beforeEach(async () => {
  asked = [];
  acceptor = world.acceptor({
    beforeStatement: (sql) => asked.push(...['gather', 'write'].filter((name) => sql.includes(`_${name}(`))),
  });
  // From now on the instance is known to the process.
  await send({});
});

const send = (given: Send) => world.send(acceptor, given);
const record = (key: string) => ({
  id: makeRecordId({ accountId: world.accountId, route: SEND_ROUTE, key }),
});

async function sent(given: Send = {}) {
  const request = { key: newUuid(), to: someone(), ...given };
  const first = await send(request);
  asked = [];
  return { request, first };
}

test('one is answered as the first was, and costs no statement to gather', async () => {
  const { request, first } = await sent();
  expect(await send(request)).toEqual({ ...first, replayed: true });
  expect(asked).toEqual(['write']);
});

test('one goes with the requests that are written beside it', async () => {
  const { request, first } = await sent();
  const [other, repeat] = await Promise.all([send({ to: someone() }), send(request)]);
  expect(repeat).toEqual({ ...first, replayed: true });
  expect(other.replayed).toBe(false);
  expect(asked.filter((name) => name === 'gather')).toEqual([]);
});

test('several at once are all answered as the first was', async () => {
  const { request, first } = await sent();
  const repeats = await Promise.all([1, 2, 3].map(() => send(request)));
  expect(repeats).toEqual(repeats.map(() => ({ ...first, replayed: true })));
});

test('another body under the same key is refused, by what Postgres knows', async () => {
  const { request } = await sent();
  expect(await outcomeOf(send({ ...request, text: 'another' }))).toBe('idempotency-key-reused');
  expect(asked).toEqual(['gather']);
});

test('one whose record is gone is a new message', async () => {
  const { request, first } = await sent();
  await world.database.idempotencyRecord.delete({ where: record(request.key) });
  const second = await send(request);
  expect(second.replayed).toBe(false);
  expect(second.message.id).not.toBe(first.message.id);
});

test('one whose record has expired is a new message', async () => {
  const { request } = await sent();
  await world.database.idempotencyRecord.update({
    where: record(request.key),
    data: { expiresAt: new Date(Date.now() - 1) },
  });
  expect((await send(request)).replayed).toBe(false);
});

test('one whose record another process has put in its place is answered as that one', async () => {
  const { request } = await sent();
  await world.database.idempotencyRecord.delete({ where: record(request.key) });
  const elsewhere = await world.send(world.acceptor(), request);
  const repeat = await send(request);
  expect(repeat.replayed).toBe(true);
  expect(uuidOf(repeat.message.id)).toBe(uuidOf(elsewhere.message.id));
});

test('one of an account that was suspended meanwhile is refused', async () => {
  const { request } = await sent();
  const where = { id: world.accountId };
  await world.database.account.update({ where, data: { suspendedAt: new Date() } });
  expect(await outcomeOf(send(request))).toBe('account-suspended');
  await world.database.account.update({ where, data: { suspendedAt: null } });
  expect((await send(request)).replayed).toBe(true);
});

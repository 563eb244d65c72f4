import { newUuid } from '@gwk/core/ids/ids';
import {
  createWorld,
  readOutcome,
  someone,
  toUuid,
  type Send,
  type World,
} from '@gwk/test/support/api/acceptance';
import { makeRecordId } from '../../http/idempotency/store.js';
import type { Acceptor } from './acceptor.js';
import { SEND_ROUTE } from './gather.js';

/** Repeats of requests: the facts contain their records. */
let world: World;
beforeAll(async () => (world = await createWorld()));
afterAll(() => world.close());

let acceptor: Acceptor;
let statements: string[];
beforeEach(() => {
  statements = [];
  acceptor = world.acceptor({
    beforeStatement: (sql) =>
      statements.push(...['gather', 'write'].filter((name) => sql.includes(`_${name}(`))),
  });
});

const send = (given: Send) => world.send(acceptor, given);
const record = (key: string) => ({
  id: makeRecordId({ accountId: world.accountId, route: SEND_ROUTE, key }),
});

async function sent(given: Send = {}) {
  const request = { key: newUuid(), to: someone(), ...given };
  const first = await send(request);
  statements = [];
  return { request, first };
}

test('replays the first response without a write', async () => {
  const { request, first } = await sent();
  expect(await send(request)).toEqual({ ...first, replayed: true });
  expect(statements).toEqual(['gather']);
});

test('finds a repeat among other sends of its batch', async () => {
  const { request, first } = await sent();
  const [other, repeat] = await Promise.all([send({ to: someone() }), send(request)]);
  expect(repeat).toEqual({ ...first, replayed: true });
  expect(other.replayed).toBe(false);
  expect(statements).toEqual(['gather', 'write']);
});

test('replays the first response to concurrent repeats', async () => {
  const { request, first } = await sent();
  const repeats = await Promise.all([1, 2, 3].map(() => send(request)));
  expect(repeats).toEqual(repeats.map(() => ({ ...first, replayed: true })));
});

test('refuses another body with the same key without a write', async () => {
  const { request } = await sent();
  expect(await readOutcome(send({ ...request, text: 'another' }))).toBe('idempotency-key-reused');
  expect(statements).toEqual(['gather']);
});

test('creates a new message after the record was deleted', async () => {
  const { request, first } = await sent();
  await world.database.idempotencyRecord.delete({ where: record(request.key) });
  const second = await send(request);
  expect(second.replayed).toBe(false);
  expect(second.message.id).not.toBe(first.message.id);
});

test('creates a new message after the record has expired', async () => {
  const { request } = await sent();
  await world.database.idempotencyRecord.update({
    where: record(request.key),
    data: { expiresAt: new Date(Date.now() - 1) },
  });
  expect((await send(request)).replayed).toBe(false);
});

test('replays the response of another process that replaced the record', async () => {
  const { request } = await sent();
  await world.database.idempotencyRecord.delete({ where: record(request.key) });
  const elsewhere = await world.send(world.acceptor(), request);
  const repeat = await send(request);
  expect(repeat.replayed).toBe(true);
  expect(toUuid(repeat.message.id)).toBe(toUuid(elsewhere.message.id));
});

test('refuses a repeat of an account that was suspended meanwhile', async () => {
  const { request } = await sent();
  const where = { id: world.accountId };
  await world.database.account.update({ where, data: { suspendedAt: new Date() } });
  expect(await readOutcome(send(request))).toBe('account-suspended');
  await world.database.account.update({ where, data: { suspendedAt: null } });
  expect((await send(request)).replayed).toBe(true);
});

import { newUuid } from '@gwk/core/ids';
import { createPortWorld, type PortWorld, type TestEngine } from '@gwk/test/harness/engine-port';

/** Calls about messages that come through after their repeat, and after what followed. */
let port: PortWorld;
beforeAll(async () => {
  port = await createPortWorld();
});
afterAll(() => port.close());

let engine: TestEngine;
beforeEach(async () => {
  engine = await (await port.addEngine()).acquire();
});

let people = 0;
const someone = () => `55119${String(10_000_000 + people++)}`;
const accept = () => port.accept({ instance: engine.instanceId, to: someone() });
const ids = (messages: { message_id: string }[]) => messages.map((one) => one.message_id);
const status = async (id: string) =>
  (await port.world.database.message.findUniqueOrThrow({ where: { id } })).status;

test('claims take nothing then: nobody waits for what they would get', async () => {
  const late = [100, newUuid(), ++engine.number] as const;
  expect(await engine.claim(...late)).toEqual([]);
  expect(await engine.claim()).toEqual([]);
  const message = await accept();
  expect(await engine.claim(...late)).toEqual([]);
  expect(await status(message)).toBe('queued');
  expect(ids(await engine.claim())).toEqual([message]);
});

test('of claims at once each is answered by its own number', async () => {
  const message = await accept();
  const [late, present] = [++engine.number, ++engine.number];
  await engine.claim(1, newUuid(), present);
  await engine.sent(message);
  const accepted = await Promise.all(Array.from({ length: 5 }, () => accept()));
  const other = await (await port.addEngine()).acquire();
  const theirs = await port.accept({ instance: other.instanceId, to: someone() });
  const next = [100, newUuid(), ++engine.number] as const;
  const answers = await Promise.all([
    engine.claim(100, newUuid(), late),
    engine.claim(...next),
    engine.claim(...next),
    other.claim(),
  ]);
  const all = accepted.sort();
  expect(answers.map((messages) => ids(messages).sort())).toEqual([[], all, all, [theirs]]);
});

test('what gives an earlier claim back leaves the present one alone', async () => {
  const message = await accept();
  const claimId = newUuid();
  await engine.claim(1, claimId);
  const late = { kind: 'returned', message_id: message, claim_id: claimId, unsent: true } as const;
  await engine.report(late);
  expect(ids(await engine.claim())).toEqual([message]);
  await engine.build(message);
  await engine.report(late);
  expect(await status(message)).toBe('sending');
  expect(await engine.claim()).toEqual([]);
  await engine.report({ kind: 'returned', message_id: message, unsent: true });
  expect(await status(message)).toBe('queued');
});

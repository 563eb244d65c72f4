import {
  findContactId,
  createWorld,
  readOutcome,
  someone,
  type World,
} from '@gwk/test/support/api/acceptance';
import { optOutsJob } from '../jobs/waiting-messages.js';
import { changeContact, lockContact, type Transaction } from './contacts.js';
import { optOut, release } from './opt-outs.js';

/** Contacts with more queued messages than one transaction fails, and contacts locked for long. */
let world: World;
beforeAll(async () => {
  world = await createWorld(2);
});
afterAll(() => world.close());

const MANY = 1_200;
const deps = () => ({ database: world.database, db: world.database, sealer: world.sealer });

/** Copies one accepted message. */
async function queueMany(to: string): Promise<void> {
  await world.send(world.acceptor(), { to });
  await world.database.$executeRaw`
    WITH one AS (
      SELECT m.*, o.seq FROM messages m JOIN outbox o ON o.message_id = m.id WHERE m."to" = ${to}
    ), copies AS (
      SELECT (left(one.id::text, 15) || substr(gen_random_uuid()::text, 16))::uuid AS copy_id, n, one.*
      FROM one, generate_series(2, ${MANY}::integer) AS n
    ), inserted AS (
      INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status,
        wa_message_id, created_at, updated_at)
      SELECT copy_id, account_id, instance_id, conversation_id, direction, "to", type, status, copy_id::text,
        created_at, updated_at FROM copies
    ), updated AS (
      UPDATE conversations v SET last_seq = ${MANY}::integer FROM one WHERE v.id = one.conversation_id
    )
    INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, offline_ms_at_start, created_at)
    SELECT copy_id, instance_id, conversation_id, seq + n - 1, 'waiting', 0, created_at FROM copies`;
}

async function optOutContact(to: string): Promise<string> {
  const contactId = await findContactId(world, to);
  await changeContact(deps().database, async (tx) => {
    await lockContact(tx, contactId);
    await addOptOut(tx, contactId);
  });
  return contactId;
}
const addOptOut = (tx: Transaction, contactId: string) => {
  const given = {
    contactId,
    sandboxId: null,
    phone: null,
    source: 'api',
    keyword: null,
    instanceId: null,
  } as const;
  return optOut(tx, world.sealer, given);
};
const countFailed = (to: string) =>
  world.database.message.count({ where: { to, status: 'failed', errorCode: 'opted_out' } });

test('an opt-out fails part of a long queue at once, and the job fails the rest', async () => {
  const to = someone();
  await queueMany(to);
  await optOutContact(to);
  const atOnce = await countFailed(to);
  expect(atOnce).toBeGreaterThan(0);
  expect(atOnce).toBeLessThan(MANY);
  const job = optOutsJob(deps());
  while ((await job.pass()).more);
  expect(await countFailed(to)).toBe(MANY);
  expect(await world.database.event.count({ where: { type: 'message.failed' } })).toBeGreaterThanOrEqual(
    MANY,
  );
  expect(await world.database.optOut.count({ where: { unfinished: true } })).toBe(0);
  expect(await job.pass()).toEqual({ amount: 0, more: false });
});

test('of a long queue, an opt-out fails those first that an engine is about to send', async () => {
  const to = someone();
  await queueMany(to);
  const last = await world.database.message.findMany({ where: { to }, orderBy: { id: 'desc' }, take: 3 });
  const ids = last.map(({ id }) => id);
  await world.database.outboxEntry.updateMany({
    where: { messageId: { in: ids } },
    data: { state: 'claimed' },
  });
  await optOutContact(to);
  const failed = await world.database.message.findMany({ where: { id: { in: ids } } });
  expect(failed.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
});

test('removing an opt-out leaves no message queued that was accepted before it', async () => {
  const to = someone();
  await queueMany(to);
  const contactId = await optOutContact(to);
  await changeContact(deps().database, async (tx) => {
    await lockContact(tx, contactId);
    expect(await release(tx, world.sealer, contactId, 'all')).toBe(true);
  });
  expect(await countFailed(to)).toBe(MANY);
});

test('sends to other contacts do not wait for a contact that is locked for long', async () => {
  const [held, fresh] = [someone(), someone()];
  const acceptor = world.acceptor();
  const others = Array.from({ length: 10 }, someone);
  for (const to of [held, fresh, ...others]) await world.send(acceptor, { to });
  const contacts = [await findContactId(world, held), await findContactId(world, fresh)];
  let late: Promise<string>[] = [];
  await changeContact(deps().database, async (tx) => {
    await tx.$queryRaw`SELECT gwk_lock_contacts(${contacts}::uuid[])::text`;
    await addOptOut(tx, contacts[0]!);
    late = [
      readOutcome(world.send(acceptor, { to: held })),
      // The other instance has no conversation with this contact yet.
      readOutcome(world.send(acceptor, { to: fresh, instance: world.instances[1]! })),
    ];
    const sent = await Promise.all(others.map((to) => readOutcome(world.send(acceptor, { to }))));
    expect(sent).toEqual(others.map(() => 'accepted'));
  });
  expect(await Promise.all(late)).toEqual(['contact-opted-out', 'accepted']);
});

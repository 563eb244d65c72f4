import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage } from '@gwk/test/support/api/inbound';
import { until } from '@gwk/test/support/wait';
import { changeContact, linkNames, lockContact, type Transaction } from './contacts.js';
import { optOut } from './opt-outs.js';

/** Holds open the moments in which an opt-out or a merge overlaps with another transaction. */
let stage: InboundStage;
let engine: TestEngine;
let phone: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  phone = stage.someone();
});
afterAll(() => stage.close());

const accept = (to = phone, by = engine) => stage.internalApi.accept({ instance: by.instanceId, to });
const outcomeCode = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'accepted',
    (error: { code?: string }) => error.code ?? 'unknown',
  );
const findContactId = async (name: string) =>
  (
    await stage.database.contactName.findFirstOrThrow({
      where: { accountId: stage.internalApi.world.accountId, name },
    })
  ).contactId;

/** Runs `beside` while the transaction holds its locks, until `beside` waits for them. Then runs `after`. */
async function whileLocked(
  locked: (tx: Transaction) => Promise<void>,
  beside: () => Promise<string>,
  after: (tx: Transaction) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  let outcome: Promise<string> | undefined;
  await changeContact(stage.database, async (tx) => {
    await locked(tx);
    outcome = beside();
    await until(() => isLockAwaited(), { what: 'a transaction waits for the lock' });
    await after(tx);
  });
  return outcome!;
}

async function isLockAwaited(): Promise<boolean> {
  const rows = await stage.database.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return rows.length > 0;
}

const optOutNow = async (tx: Transaction, contactId: string): Promise<void> => {
  await lockContact(tx, contactId);
  const given = {
    contactId,
    sandboxId: null,
    phone: null,
    source: 'api',
    keyword: null,
    instanceId: null,
  } as const;
  await optOut(tx, stage.internalApi.world.sealer, given);
};

test('an accept in an existing conversation waits for the opt-out, and is refused', async () => {
  await accept();
  const contact = await findContactId(phone);
  expect(
    await whileLocked(
      (tx) => optOutNow(tx, contact),
      () => outcomeCode(accept()),
    ),
  ).toBe('contact-opted-out');
});

test('an accept in a new conversation with a known contact waits for the opt-out, and is refused', async () => {
  await accept();
  const other = await stage.engine();
  const contact = await findContactId(phone);
  const outcome = await whileLocked(
    (tx) => optOutNow(tx, contact),
    () => outcomeCode(accept(phone, other)),
  );
  expect(outcome).toBe('contact-opted-out');
  expect(await stage.database.conversation.count({ where: { instanceId: other.instanceId } })).toBe(0);
});

test('an accept in a new conversation with a merged contact uses the remaining contact', async () => {
  const lid = stage.someLid();
  await accept();
  await accept(lid);
  const other = await stage.engine();
  const [kept, merged] = [await findContactId(phone), await findContactId(lid)];
  const outcome = await whileLocked(
    async (tx) => {
      await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${kept}, ${merged}]::uuid[])::text`;
      await tx.$queryRaw`SELECT gwk_merge_contacts(${kept}::uuid, ${merged}::uuid)::text`;
    },
    () => outcomeCode(accept(lid, other)),
  );
  expect(outcome).toBe('accepted');
  const where = { instanceId: other.instanceId };
  expect(await stage.database.conversation.findMany({ where, select: { contactId: true } })).toEqual([
    { contactId: kept },
  ]);
});

test('a message received during a merge joins the remaining conversation', async () => {
  const lid = stage.someLid();
  await stage.receive(engine, stage.text(phone, 'oi'), stage.text(lid, 'oi'));
  const [kept, merged] = [await findContactId(phone), await findContactId(lid)];
  await whileLocked(
    async (tx) => {
      await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${kept}, ${merged}]::uuid[])::text`;
      await tx.$queryRaw`SELECT gwk_merge_contacts(${kept}::uuid, ${merged}::uuid)::text`;
    },
    () => outcomeCode(stage.receive(engine, stage.text(lid, 'e agora'))),
  );
  const rows = await stage.inbound(engine);
  expect(rows).toHaveLength(3);
  expect(new Set(rows.map(({ conversationId }) => conversationId)).size).toBe(1);
});

test('an outcome during a merge advances the conversation', async () => {
  const lid = stage.someLid();
  const [first, second] = [await accept(), await accept()];
  const toLid = await accept(lid);
  await engine.claim(2);
  const [kept, merged] = [await findContactId(phone), await findContactId(lid)];
  await whileLocked(
    async (tx) => {
      await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${kept}, ${merged}]::uuid[])::text`;
      await tx.$queryRaw`SELECT gwk_merge_contacts(${kept}::uuid, ${merged}::uuid)::text`;
    },
    () => outcomeCode(engine.sent(toLid)),
  );
  await engine.sent(first);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([second]);
});

test('concurrent links of an unknown pair create one contact', async () => {
  const lid = stage.someLid();
  const deps = { database: stage.database, sealer: stage.internalApi.world.sealer };
  const { accountId } = stage.internalApi.world;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      linkNames(deps, { accountId, instanceId: engine.instanceId, lid, phone }),
    ),
  );
  expect(await findContactId(phone)).toBe(await findContactId(lid));
  expect(
    await stage.database.contact.count({
      where: { accountId: stage.internalApi.world.accountId, names: { none: {} } },
    }),
  ).toBe(0);
});

describe('a username of a contact that is changed meanwhile', () => {
  test.each([
    ['merge', 'report'],
    ['merge', 'message'],
    ['renewal', 'report'],
    ['renewal', 'message'],
  ])('%s, by %s: stored for the contact that remains', async (change, way) => {
    const lid = stage.someLid();
    const other = await stage.engine();
    const write = (username: string, given = {}) =>
      stage.receive(other, stage.text(lid, 'oi', { username, ...given }));
    await stage.receive(engine, stage.text(phone, 'oi'));
    await write('one');
    const [kept, gone] = [await findContactId(phone), await findContactId(lid)];
    const at = new Date().toISOString();
    const outcome = await whileLocked(
      async (tx) => {
        await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${kept}, ${gone}]::uuid[])::text`;
        if (change === 'merge')
          await tx.$queryRaw`SELECT gwk_merge_contacts(${kept}::uuid, ${gone}::uuid)::text`;
        else await tx.$queryRaw`SELECT gwk_renew_contact(${gone}::uuid, gen_random_uuid())::text`;
      },
      () =>
        outcomeCode(
          way === 'report'
            ? other.call('usernames', { people: [{ lid, username: 'two', at }] })
            : write('two', { at }),
        ),
    );
    expect(outcome).toBe('accepted');
    expect((await stage.lastEvent(other, 'contact.updated')).data).toMatchObject({
      contact: { id: lid, username: 'two' },
      previous: { id: lid, username: 'one' },
    });
    const where = { instanceId: other.instanceId, contactId: await findContactId(lid) };
    expect(await stage.database.conversation.findMany({ where, select: { username: true } })).toEqual([
      { username: 'two' },
    ]);
  });
});

test('usernames of several people lock their conversations in the order of all transactions', async () => {
  const [lower, higher] = [stage.someLid(), stage.someLid()];
  // The order of the conversations is the opposite of that of the LIDs.
  for (const lid of [higher, lower]) await stage.receive(engine, stage.text(lid, 'oi'));
  const { instanceId } = engine;
  const lock = async (tx: Transaction, lid: string) => {
    const contact = await findContactId(lid);
    await tx.$queryRaw`
      SELECT v.id FROM conversations v
      WHERE v.instance_id = ${instanceId}::uuid AND v.contact_id = ${contact}::uuid FOR NO KEY UPDATE NOWAIT`;
  };
  const people = [lower, higher].map((lid) => ({ lid, username: 'ana', at: new Date().toISOString() }));
  const outcome = await whileLocked(
    (tx) => lock(tx, higher),
    () => outcomeCode(engine.call('usernames', { people })),
    // Fails if the waiting call holds it: a deadlock without NOWAIT.
    (tx) => lock(tx, lower),
  );
  expect(outcome).toBe('accepted');
});

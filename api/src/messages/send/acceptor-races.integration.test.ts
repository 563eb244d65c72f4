import { newUuid } from '@gwk/core/ids/ids';
import {
  findContactId,
  createWorld,
  optOut,
  readOutcome,
  someone,
  toUuid,
  type Send,
  type World,
} from '@gwk/test/support/api/acceptance';
import { messagesOnUnknownDays } from '@gwk/test/support/servers/days';
import type { Acceptor } from './acceptor.js';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld();
  acceptor = world.acceptor();
});
afterAll(() => world.close());

/** Limits are per instance, so each test has its own. */
let instance: string;
beforeEach(async () => {
  instance = await world.addInstance();
});

const send = (given: Send = {}, by = acceptor) => world.send(by, { instance, ...given });

describe('queue order', () => {
  test('follows the acceptance at two replicas', async () => {
    const other = world.acceptor();
    const moments: { began: number; ended: number; id: string }[] = [];
    const client = async (by: Acceptor) => {
      for (let i = 0; i < 20; i++) {
        const began = performance.now();
        const { message } = await send({ to: '5511944443333', text: newUuid() }, by);
        moments.push({ began, ended: performance.now(), id: toUuid(message.id) });
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, i) => client(i % 2 ? acceptor : other)));
    const rows = await world.database.outboxEntry.findMany({
      where: { instanceId: instance },
      orderBy: { seq: 'asc' },
    });
    expect(rows.map((row) => Number(row.seq))).toEqual(Array.from({ length: 320 }, (_, i) => i + 1));
    expect(rows.filter((row) => row.head).map((row) => row.seq)).toEqual([1n]);
    const seqs = new Map(rows.map((row) => [row.messageId, row.seq!]));
    const early = moments.flatMap((a) =>
      moments.filter((b) => a.ended < b.began && seqs.get(a.id)! > seqs.get(b.id)!),
    );
    expect(early).toEqual([]);
  });
});

describe('changes between gather and write', () => {
  const changedBeforeWrite = (change: () => Promise<unknown>) => {
    let done = false;
    return world.acceptor({
      beforeStatement: async (sql) => {
        if (done || !sql.includes('gwk_accept_write')) return;
        await change();
        done = true;
      },
    });
  };

  test('refuses after an opt-out', async () => {
    await send({ to: '5511933332222' });
    const contact = await findContactId(world, '5511933332222');
    const racing = changedBeforeWrite(() => optOut(world, contact));
    expect(await readOutcome(send({ to: '5511933332222' }, racing))).toBe('contact-opted-out');
  });

  test('refuses after the deletion of the instance', async () => {
    const racing = changedBeforeWrite(() =>
      world.database.instance.update({ where: { id: instance }, data: { deletedAt: new Date() } }),
    );
    expect(await readOutcome(send({}, racing))).toBe('not-found');
  });

  test('refuses by a new policy of the instance', async () => {
    const data = { policy: { new_contacts_per_day: 0 } };
    const racing = changedBeforeWrite(() =>
      world.database.instance.update({ where: { id: instance }, data }),
    );
    expect(await readOutcome(send({ to: someone() }, racing))).toBe('policy-new-contacts-limit');
  });

  test('refuses by a new policy of the account', async () => {
    const set = (policy: object) =>
      world.database.account.update({ where: { id: world.accountId }, data: { policy } });
    const racing = changedBeforeWrite(() => set({ new_contacts_per_day: 0 }));
    const outcome = await readOutcome(send({ to: someone() }, racing));
    await set({});
    expect(outcome).toBe('policy-new-contacts-limit');
  });

  test('refuses after a suspension of the account', async () => {
    const set = (suspendedAt: Date | null) =>
      world.database.account.update({ where: { id: world.accountId }, data: { suspendedAt } });
    const racing = changedBeforeWrite(() => set(new Date()));
    const outcome = await readOutcome(send({}, racing));
    await set(null);
    expect(outcome).toBe('account-suspended');
  });

  test('does not count a contact who has just written', async () => {
    const policy = { mass_block: { max_contacts: 1 } };
    await world.database.instance.update({ where: { id: instance }, data: { policy } });
    const to = someone();
    await send({ to, text: 'first' });
    const racing = changedBeforeWrite(() =>
      world.database.conversation.updateMany({
        where: { instanceId: instance },
        data: { lastWroteAt: new Date() },
      }),
    );
    expect(await readOutcome(send({ to, text: 'again' }, racing))).toBe('accepted');
    expect(await readOutcome(send({ to: someone(), text: 'again' }))).toBe('accepted');
  });

  test('uses a contact that another replica created', async () => {
    const to = someone();
    const racing = changedBeforeWrite(() => send({ to }));
    expect(await readOutcome(send({ to }, racing))).toBe('accepted');
    const names = await world.database.contactName.findMany({ where: { name: to } });
    expect(names).toHaveLength(1);
    const where = { instanceId: instance, contactId: names[0]!.contactId };
    expect(await world.database.conversation.findMany({ where })).toMatchObject([{ lastSeq: 2n }]);
    expect(await world.database.contact.count({ where: { names: { none: {} } } })).toBe(0);
  });

  test('uses a conversation that another replica created, without retrying the rest of the batch', async () => {
    const to = someone();
    const elsewhere = await world.addInstance();
    await world.send(acceptor, { instance: elsewhere, to });
    const statements: string[] = [];
    let done = false;
    const racing = world.acceptor({
      beforeStatement: async (sql) => {
        statements.push(/gwk_accept_(\w+)/.exec(sql)![1]!);
        if (done || !sql.includes('gwk_accept_write')) return;
        done = true;
        await send({ to });
      },
    });
    const outcomes = await Promise.all(
      [to, someone(), someone()].map((one) => readOutcome(send({ to: one }, racing))),
    );
    expect(outcomes).toEqual(['accepted', 'accepted', 'accepted']);
    const where = { instanceId: instance, contactId: await findContactId(world, to) };
    expect(await world.database.conversation.findMany({ where })).toMatchObject([{ lastSeq: 2n }]);
    // The first write leaves out one request, the second writes it.
    expect(statements).toEqual(['gather', 'write', 'gather', 'write']);
    expect(await world.database.message.count({ where: { instanceId: instance } })).toBe(4);
  });

  test('sends to the merged contact', async () => {
    await send({ to: '5511922221111' });
    const before = await findContactId(world, '5511922221111');
    const merged = newUuid();
    const racing = changedBeforeWrite(async () => {
      await world.database.contact.create({ data: { id: merged, accountId: world.accountId } });
      await world.database.contactName.updateMany({
        where: { contactId: before },
        data: { contactId: merged },
      });
      await world.database.conversation.updateMany({
        where: { contactId: before },
        data: { contactId: merged },
      });
    });
    expect(await readOutcome(send({ to: '5511922221111' }, racing))).toBe('accepted');
    const rows = await world.database.conversation.findMany({ where: { instanceId: instance } });
    expect(rows).toMatchObject([{ contactId: merged, lastSeq: 2n }]);
  });

  test('refuses at a limit that another replica has reached', async () => {
    await world.database.instance.update({
      where: { id: instance },
      data: { policy: { new_contacts_per_day: 1 } },
    });
    const racing = changedBeforeWrite(() => send({ to: someone(), text: 'first' }));
    expect(await readOutcome(send({ to: someone() }, racing))).toBe('policy-new-contacts-limit');
  });
});

describe('rows with long locks', () => {
  /** @returns a function that releases the lock */
  async function lock(sql: string, id: string): Promise<() => Promise<unknown>> {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let setLocked = () => {};
    const locked = new Promise<void>((resolve) => (setLocked = resolve));
    const done = world.database.$transaction(
      async (tx) => {
        await tx.$queryRawUnsafe(sql, id);
        setLocked();
        await released;
      },
      { timeout: 600_000 },
    );
    await locked;
    return () => {
      release();
      return done;
    };
  }

  const prepareOtherInstance = async () => {
    const elsewhere = await world.addInstance();
    return (to = someone()) => readOutcome(world.send(acceptor, { instance: elsewhere, to }));
  };

  test('the counters of an instance block only requests that count in them', async () => {
    const sendElsewhere = await prepareOtherInstance();
    const known = someone();
    await send({ to: known });
    expect(await sendElsewhere()).toBe('accepted');
    const release = await lock(
      'SELECT FROM instance_counters WHERE instance_id = $1::uuid FOR UPDATE',
      instance,
    );
    const waiting = readOutcome(send());
    expect(await Promise.all([1, 2, 3].map(() => sendElsewhere()))).toEqual(Array(3).fill('accepted'));
    await release();
    expect(await waiting).toBe('accepted');
    const counters = await world.database.instanceCounters.findUniqueOrThrow({
      where: { instanceId: instance },
    });
    expect(counters.newContacts).toBe(2n);
  });

  test('a contact blocks only requests to it', async () => {
    const sendElsewhere = await prepareOtherInstance();
    const known = someone();
    await send({ to: known });
    await sendElsewhere();
    const release = await lock(
      'SELECT FROM contacts WHERE id = $1::uuid FOR UPDATE',
      await findContactId(world, known),
    );
    const waiting = [send({ to: known }), send({ to: known })].map(readOutcome);
    expect(await sendElsewhere()).toBe('accepted');
    await release();
    expect(await Promise.all(waiting)).toEqual(['accepted', 'accepted']);
  });
});

test('each conversation lists the days of its messages after all tests above', async () => {
  expect(await messagesOnUnknownDays(world.database)).toEqual([]);
});

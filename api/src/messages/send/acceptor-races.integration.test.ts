import { newUuid } from '@gwk/core/ids';
import {
  findContactId,
  createWorld,
  optOut,
  readOutcome,
  people,
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

const tally = (values: string[]) =>
  values.reduce<Record<string, number>>((sums, value) => ({ ...sums, [value]: (sums[value] ?? 0) + 1 }), {});

describe('limits at two replicas', () => {
  const flood = async (given: Send[]): Promise<Record<string, number>> => {
    const other = world.acceptor();
    const outcomes = given.map((one, i) => readOutcome(send(one, i % 2 ? acceptor : other)));
    return tally(await Promise.all(outcomes));
  };
  const setPolicy = (policy: object) =>
    world.database.instance.update({ where: { id: instance }, data: { policy } });

  test('accepts exactly the limit of 500 concurrent new contacts', async () => {
    await setPolicy({ new_contacts_per_day: 120, mass_block: { max_contacts: 10_000 } });
    const outcomes = await flood(people(500).map((to) => ({ to })));
    expect(outcomes).toEqual({ accepted: 120, 'policy-new-contacts-limit': 380 });
    const counted = await world.database.conversation.findMany({
      where: { instanceId: instance, firstSentAt: { not: null } },
      orderBy: { firstSentNo: 'asc' },
    });
    expect(counted.map((row) => row.firstSentNo)).toEqual(
      Array.from({ length: 120 }, (_, i) => BigInt(i + 1)),
    );
    // Counted contacts remain allowed. The limit has headroom again when the oldest leaves the window.
    expect(await readOutcome(send({ to: people(500)[499]! }))).toBe('policy-new-contacts-limit');
    const known = await world.database.message.findFirstOrThrow({ where: { instanceId: instance } });
    expect(await readOutcome(send({ to: known.to }))).toBe('accepted');
    // The oldest leaves the window in an hour.
    const dayAgo = new Date(Date.now() - 86_400_000 + 3_600_000);
    await world.database.conversation.update({
      where: { id: counted[0]!.id },
      data: { firstSentAt: dayAgo },
    });
    const refusal: unknown = await send({ to: '5511988880000' }).catch((error: unknown) => error);
    const remaining = (dayAgo.getTime() + 86_400_000 - Date.now()) / 1000;
    const { retryAfter } = (refusal as { extras: { retryAfter: number } }).extras;
    expect(retryAfter).toBeGreaterThanOrEqual(Math.floor(remaining));
    expect(retryAfter).toBeLessThanOrEqual(3_601);
  });

  test('counts a new contact once for several concurrent messages', async () => {
    await setPolicy({ new_contacts_per_day: 30, mass_block: { max_contacts: 10_000 } });
    const to = people(40);
    const outcomes = await flood(Array.from({ length: 240 }, (_, i) => ({ to: to[i % 40]! })));
    const rows = await world.database.conversation.findMany({ where: { instanceId: instance } });
    expect(rows.filter((row) => row.firstSentAt !== null)).toHaveLength(30);
    expect(outcomes).toEqual({ accepted: 180, 'policy-new-contacts-limit': 60 });
  });

  test('accepts a text up to the mass-send limit', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 25 } });
    const outcomes = await flood(people(200).map((to, i) => ({ to, text: `Oferta  ${i} hoje` })));
    expect(outcomes).toEqual({ accepted: 25, 'policy-mass-send-blocked': 175 });
    const sent = await world.database.message.findFirstOrThrow({ where: { instanceId: instance } });
    expect(await readOutcome(send({ to: sent.to, text: 'OFERTA 999 HOJE' }))).toBe('accepted');
    expect(await readOutcome(send({ to: someone(), text: 'another text' }))).toBe('accepted');
  });

  test('enforces the mass-send limit when both replicas have stale counts', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 6 } });
    const other = world.acceptor();
    const sendBy = (by: Acceptor, text: string) => readOutcome(send({ to: someone(), text }, by));
    const outcomes: string[] = [];
    for (const by of [acceptor, other, acceptor, other, other, acceptor, other, acceptor]) {
      outcomes.push(await sendBy(by, 'the same'));
      expect(await sendBy(by, newUuid())).toBe('accepted');
    }
    expect(tally(outcomes)).toEqual({ accepted: 6, 'policy-mass-send-blocked': 2 });
    expect(outcomes.slice(6)).toEqual(['policy-mass-send-blocked', 'policy-mass-send-blocked']);
  });

  test('accepts a text again after earlier contacts have left the window', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 3 } });
    const sendOne = () => readOutcome(send({ to: someone(), text: 'now and then' }));
    for (let i = 0; i < 3; i++) expect(await sendOne()).toBe('accepted');
    expect(await sendOne()).toBe('policy-mass-send-blocked');
    await world.database.$executeRaw`
      UPDATE mass_sends s SET at = at - interval '3601 seconds'
      FROM conversations c WHERE c.contact_id = s.contact_id AND c.instance_id = ${instance}::uuid`;
    for (let i = 0; i < 3; i++) expect(await sendOne()).toBe('accepted');
    expect(await sendOne()).toBe('policy-mass-send-blocked');
  });

  test('keeps the mass-send limit exact after refusals in the same batch', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 10 } });
    // Texts that differ only in digits count as the same.
    const letter = (i: number) => String.fromCharCode(97 + i);
    const say = (text: string, to = someone()) => readOutcome(send({ to, text }));
    for (let i = 0; i < 3; i++) expect(await say('again')).toBe('accepted');
    const optedOut = someone();
    expect(await say('another', optedOut)).toBe('accepted');
    await optOut(world, await findContactId(world, optedOut));
    // Nothing of the batch is written, so none of its texts counts.
    const refused = Array.from({ length: 21 }, (_, i) =>
      say(i === 0 ? 'again' : `other ${letter(i)}`, optedOut),
    );
    expect(tally(await Promise.all(refused))).toEqual({ 'contact-opted-out': 21 });
    for (let i = 3; i < 10; i++) expect(await say('again')).toBe('accepted');
    for (let i = 0; i < 14; i++) expect(await say(`different ${letter(i)}`)).toBe('accepted');
    expect(await say('again')).toBe('policy-mass-send-blocked');
  });

  test('does not recount a text far from its limit', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 10 } });
    const sendOne = () => readOutcome(send({ to: someone(), text: 'few times' }));
    for (let i = 0; i < 3; i++) expect(await sendOne()).toBe('accepted');
    // Rows that the counter of the instance does not include: only a recount would find them.
    await world.database.$executeRaw`
      INSERT INTO mass_sends (fingerprint, contact_id, at)
      SELECT s.fingerprint, gen_random_uuid(), s.at
      FROM (
        SELECT m.* FROM mass_sends m JOIN conversations c ON c.contact_id = m.contact_id
        WHERE c.instance_id = ${instance}::uuid LIMIT 1
      ) AS s, generate_series(1, 20)`;
    for (let i = 3; i < 10; i++) expect(await sendOne()).toBe('accepted');
    expect(await sendOne()).toBe('policy-mass-send-blocked');
  });

  test('counts the same text in different message types together', async () => {
    await setPolicy({ new_contacts_per_day: 1000, mass_block: { max_contacts: 4 } });
    const link = { url: 'https://example.org/a' };
    const buttons = [{ type: 'reply', label: 'Sim', id: 'yes' }];
    const options = ['a', 'b'].map((id) => ({ id, label: id }));
    const as = (type: string, content: object) => ({ type, text: undefined, [type]: content });
    const outcome = (extra: object) => readOutcome(send({ to: someone(), extra: { ...extra } }));
    const forms = [
      { text: { body: 'Oferta 10' } },
      as('image', { media: link, caption: 'OFERTA  20' }),
      as('interactive', { body: 'oferta 30', buttons }),
      as('poll', { name: 'Oferta 40 ', options }),
    ];
    for (const form of forms) expect(await outcome(form)).toBe('accepted');
    for (const form of forms) expect(await outcome(form)).toBe('policy-mass-send-blocked');
    const withoutText = as('location', { latitude: 1, longitude: 2 });
    for (let n = 0; n < 6; n++) expect(await outcome(withoutText)).toBe('accepted');
  });

  test('does not count a contact who wrote', async () => {
    await setPolicy({ new_contacts_per_day: 1, mass_block: { max_contacts: 1 } });
    await send({ to: '5511955554444' });
    await world.database.conversation.updateMany({
      where: { instanceId: instance },
      data: { lastWroteAt: new Date() },
    });
    expect(await readOutcome(send({ to: '5511955554444' }))).toBe('accepted');
    expect(await readOutcome(send({ to: '5511955553333', text: 'hello' }))).toBe('policy-mass-send-blocked');
    expect(await readOutcome(send({ to: '5511955553333', text: 'new' }))).toBe('policy-new-contacts-limit');
  });
});

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
    // The first write fails, the second skips one request, the third writes that request.
    expect(statements.filter((name) => name === 'write')).toHaveLength(3);
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

describe('predictions', () => {
  const observed = () => {
    const statements: string[] = [];
    const by = world.acceptor({
      beforeStatement: (sql) => statements.push(/gwk_accept_(\w+)/.exec(sql)![1]!),
    });
    return { by, statements };
  };
  const sendAfter = async (change: () => Promise<unknown>, given: Send = {}) => {
    const { by, statements } = observed();
    const to = someone();
    await send({ to }, by);
    await change();
    statements.length = 0;
    const outcome = await readOutcome(send({ to, ...given }, by));
    return { outcome, statements };
  };
  const nothing = () => Promise.resolve();

  test('a cached instance needs one statement, also for a new contact', async () => {
    expect(await sendAfter(nothing)).toEqual({ outcome: 'accepted', statements: ['write'] });
    expect(await sendAfter(nothing, { to: someone() })).toEqual({
      outcome: 'accepted',
      statements: ['write'],
    });
  });

  test.each<[string, object]>([
    ['a new policy of the instance', { policy: { new_contacts_per_day: 0 } }],
    ['the deletion of the instance', { deletedAt: new Date() }],
  ])('%s takes effect at once', async (_, data) => {
    const change = () => world.database.instance.update({ where: { id: instance }, data });
    const { outcome, statements } = await sendAfter(change, { to: someone() });
    expect(outcome).not.toBe('accepted');
    expect(statements).toEqual(['write', 'gather']);
  });

  test('a new policy of the account takes effect at once', async () => {
    const set = (policy: object) =>
      world.database.account.update({ where: { id: world.accountId }, data: { policy } });
    const { outcome } = await sendAfter(() => set({ new_contacts_per_day: 0 }), { to: someone() });
    await set({});
    expect(outcome).toBe('policy-new-contacts-limit');
  });

  test('a contact who has just written is not counted', async () => {
    const { by } = observed();
    const to = someone();
    await send({ to }, by);
    const wrote = { lastWroteAt: new Date() };
    await world.database.conversation.updateMany({ where: { instanceId: instance }, data: wrote });
    const policy = { mass_block: { max_contacts: 1 } };
    await world.database.instance.update({ where: { id: instance }, data: { policy } });
    expect(await readOutcome(send({ to: someone(), text: 'again' }, by))).toBe('accepted');
    expect(await readOutcome(send({ to, text: 'again' }, by))).toBe('accepted');
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

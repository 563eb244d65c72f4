import { newUuid } from '@gwk/core/ids/ids';
import {
  findContactId,
  createWorld,
  optOut,
  readOutcome,
  people,
  someone,
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

  test('enforces the mass-send limit at replicas that send by turns', async () => {
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

test('each conversation lists the days of its messages after all tests above', async () => {
  expect(await messagesOnUnknownDays(world.database)).toEqual([]);
});

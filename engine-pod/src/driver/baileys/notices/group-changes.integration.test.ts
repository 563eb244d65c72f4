import type { GroupNotice } from '@gwk/core/protocol/notices';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let bia: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  bia = await stage.network.contact('5511900000014', { name: 'Bia' });
});
beforeEach(async () => {
  stage.number.rows.before = () => undefined;
  group = await stage.network.group('Team', [stage.ana, stage.phone]);
});
afterAll(() => stage.close());

const changesOf = (chat: string) =>
  stage.number.rows.notices.filter(
    (notice): notice is GroupNotice => notice.kind === 'group' && notice.chat === chat,
  );
const change = async (...given: Parameters<NumberStage['network']['changeGroup']>) => {
  const before = changesOf(given[0]).length;
  await stage.network.changeGroup(...given);
  await stage.phone.hasTakenAll();
  return changesOf(given[0]).slice(before);
};
const named = (person: NumberStage['ana'], name: string | null = null) => ({
  id: person.lidJid,
  alt: person.jid,
  name,
});

test('reports who is added and removed, and by whom', async () => {
  const [added] = await change(group, { add: [bia.number] });
  expect(added).toMatchObject({ chat: group, from: named(stage.ana, 'Ana'), from_me: false });
  expect(added).toMatchObject({ joined: [named(bia)], reason: 'add' });
  expect(added).not.toHaveProperty('role');
  const [removed] = await change(group, { remove: [bia.number] });
  expect(removed).toMatchObject({ left: [named(bia)], reason: 'remove', from: named(stage.ana, 'Ana') });
});

test('reports who joins by a link and who leaves', async () => {
  const joined = await change(group, { add: [bia.number], by: bia.number });
  expect(joined).toMatchObject([{ joined: [named(bia)], reason: 'invite', from: named(bia, 'Bia') }]);
  const left = await change(group, { remove: [bia.number], by: bia.number });
  expect(left).toMatchObject([{ left: [named(bia)], reason: 'leave' }]);
  const linked = await change(group, { add: [bia.number], reason: 'invite' });
  expect(linked).toMatchObject([{ reason: 'invite' }]);
});

test('reports the role of the number', async () => {
  const { phone } = stage;
  const roleAfter = async (given: Parameters<typeof change>[1]) => (await change(group, given))[0]?.role;
  expect(await roleAfter({ promote: [phone.number] })).toBe('admin');
  expect(await roleAfter({ demote: [phone.number] })).toBe('member');
  expect(await roleAfter({ remove: [phone.number] })).toBeNull();
  expect(await roleAfter({ add: [phone.number] })).toBe('member');
  expect(await change(group, { promote: [stage.ana.number] })).toMatchObject([
    { promoted: [named(stage.ana)] },
  ]);
});

test('reports each setting, also of changes on the own phone', async () => {
  const by = stage.phone.number;
  const given = { subject: 'New', description: 'Ours', announcement: true, expiration: 86_400, by };
  expect(await change(group, given)).toMatchObject([
    { subject: 'New', from: null, from_me: true },
    { description: 'Ours' },
    { announcement: true },
    { expires_in_s: 86_400 },
  ]);
  expect(await change(group, { description: null, announcement: false, expiration: 0 })).toMatchObject([
    { description: null },
    { announcement: false },
    { expires_in_s: 0 },
  ]);
});

test('reports a new group with its subject and the role of the number', async () => {
  const { network, phone, ana } = stage;
  const jid = await network.group('Fresh', [ana, phone], { announced: true, description: 'Hi' });
  await phone.hasTakenAll();
  const [created] = changesOf(jid);
  expect(created).toMatchObject({ subject: 'Fresh', description: 'Hi', role: 'member', reason: 'create' });
  expect(created).toMatchObject({ joined: [named(phone)], from: named(ana, 'Ana') });
});

test('reports members who hide their phone numbers by LID only', async () => {
  const jid = await stage.network.group('Hidden', [stage.ana, stage.phone], { showsPhones: false });
  const [added] = await change(jid, { add: [bia.number] });
  expect(added).toMatchObject({
    joined: [{ id: bia.lidJid, alt: null }],
    from: { id: stage.ana.lidJid, alt: null },
  });
});

test('acknowledges a change after it is stored: the next engine reports it with its own time', async () => {
  const { number, network, phone } = stage;
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  number.rows.before = (what) => {
    asked ||= what === 'notice';
    return what === 'notice' ? promise : undefined;
  };
  await network.changeGroup(group, { subject: 'Held' });
  await until('the change', () => asked || undefined);
  const before = Date.now();
  number.rows.before = () => undefined;
  await number.replace();
  const held = await until('the change again', () => changesOf(group)[0]);
  expect(held).toMatchObject({ subject: 'Held' });
  expect(Date.parse(held.at)).toBeLessThanOrEqual(before);
  await phone.hasTakenAll();
  resolve();
});

test('changes that found no place come again once the API answers', async () => {
  const { number, network, ana } = stage;
  const { promise, resolve } = Promise.withResolvers<void>();
  number.rows.before = (what) => (what === 'notice' ? promise : undefined);
  for (let at = 1; at <= 1_003; at++) await network.changeGroup(group, { subject: `Subject ${at}` });
  // It arrives after all of them.
  await number.gets(await ana.writes('hello'));
  number.events.length = 0;
  number.rows.before = () => undefined;
  resolve();
  await number.happens('closed');
  number.connect();
  const last = () => changesOf(group).find(({ subject }) => subject === 'Subject 1003');
  expect(await until('the last change', last)).toMatchObject({ kind: 'group' });
});

test('an API of an earlier release gets nothing, and the group stays current', async () => {
  const { number } = stage;
  await number.driver.findGroup(group);
  number.rows.rejectsCalls = undefined;
  expect(await change(group, { subject: 'Old' })).toEqual([]);
  number.rows.rejectsCalls = false;
  expect(await number.driver.findGroup(group)).toMatchObject({ subject: 'Old' });
});

test('keeps to the protocol', async () => {
  const { violations, unhandled } = await stage.network.status();
  expect({ violations, unhandled }).toEqual({ violations: [], unhandled: [] });
});

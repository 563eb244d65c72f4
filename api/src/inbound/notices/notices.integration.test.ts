import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { CallNotice, GroupNotice, Notice } from '@gwk/core/protocol/notices';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import { readRefusal, type TestEngine } from '@gwk/test/support/api/internal-api';

const GROUP = '120363000000000001@g.us';

let stage: InboundStage;
let engine: TestEngine;
let ana: string;
let lid: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  ana = stage.someone();
  lid = stage.someLid();
});
afterAll(() => stage.close());

const report = (...notices: Notice[]) => engine.call('notices', { notices });
const call = (given: Partial<CallNotice> = {}): CallNotice => ({
  kind: 'call',
  id: newUuid(),
  at: new Date().toISOString(),
  from: { id: lid, alt: jid(ana), name: 'Ana' },
  video: false,
  group: false,
  chat: null,
  missed: false,
  rejected: false,
  ...given,
});
const change = (given: Partial<GroupNotice> = {}): GroupNotice => ({
  kind: 'group',
  id: newUuid(),
  at: new Date().toISOString(),
  chat: GROUP,
  from: { id: lid, alt: jid(ana), name: 'Ana' },
  from_me: false,
  ...given,
});

describe('a call', () => {
  test('is one event, however often it is reported', async () => {
    const given = call({ video: true, at: '2026-01-02T03:04:05.000Z' });
    await report(given, given);
    await Promise.all([report(given), report(given, call())]);
    const events = await stage.events(engine, 'call.received');
    expect(events).toHaveLength(2);
    expect(events[0]!.data).toEqual({
      instance_id: toPublicId('instance', engine.instanceId),
      timestamp: '2026-01-02T03:04:05.000Z',
      call_id: given.id,
      from: { id: lid, phone: ana, username: null, name: 'Ana' },
      video: true,
      group: false,
      missed: false,
      rejected: false,
    });
  });

  test('of another caller with the same id is another call', async () => {
    const given = call();
    await report(given, { ...given, from: { id: jid(stage.someone()), alt: null, name: null } });
    expect(await stage.events(engine, 'call.received')).toHaveLength(2);
  });

  test('names its group', async () => {
    await report(call({ group: true, chat: GROUP, missed: true }));
    expect((await stage.lastEvent(engine)).data).toMatchObject({
      group: true,
      chat: { id: GROUP, is_group: true },
      missed: true,
    });
  });

  test('names a caller with one id as messages of that contact do', async () => {
    await stage.receive(engine, stage.text(lid, 'oi', { alt: jid(ana) }));
    await report(call({ from: { id: jid(ana), alt: null, name: null } }));
    expect((await stage.lastEvent(engine)).data['from']).toEqual({
      id: lid,
      phone: ana,
      username: null,
      name: null,
    });
    const stranger = stage.someLid();
    await report(call({ from: { id: stranger, alt: null, name: null } }));
    expect((await stage.lastEvent(engine)).data['from']).toEqual({
      id: stranger,
      username: null,
      name: null,
    });
  });

  test('of the future has the time of its report', async () => {
    await report(call({ at: '2199-01-01T00:00:00.000Z' }));
    const timestamp = (await stage.lastEvent(engine)).data['timestamp'] as string;
    expect(Date.parse(timestamp)).toBeLessThanOrEqual(Date.now());
  });
});

describe('a change of a group', () => {
  test('is one event with the people and values that changed', async () => {
    const bia = stage.someone();
    const given = change({ joined: [{ id: stage.someLid(), alt: jid(bia), name: null }], reason: 'add' });
    await report(given, given);
    const events = await stage.events(engine, 'group.updated');
    expect(events).toHaveLength(1);
    const { data } = events[0]!;
    expect(data).toEqual({
      instance_id: toPublicId('instance', engine.instanceId),
      timestamp: given.at,
      chat: { id: GROUP, is_group: true },
      from: { id: lid, phone: ana, username: null, name: 'Ana' },
      from_me: false,
      joined: [{ id: given.joined![0]!.id, phone: bia, username: null, name: null }],
      reason: 'add',
    });
  });

  test('of the own account has no author, and a removed description is null', async () => {
    await report(change({ from: null, from_me: true, description: null, role: null, expires_in_s: 0 }));
    const { data } = await stage.lastEvent(engine);
    expect(data).toMatchObject({ from_me: true, description: null, role: null, expires_in_s: 0 });
    expect(data).not.toHaveProperty('from');
  });

  test('names members by the phone numbers that this instance knows, and by no other', async () => {
    const other = await stage.engine();
    await stage.receive(engine, stage.text(lid, 'oi', { alt: jid(ana) }));
    const member = { id: lid, alt: null, name: null };
    await report(change({ left: [member], reason: 'leave' }));
    expect((await stage.lastEvent(engine)).data['left']).toEqual([
      { id: lid, phone: ana, username: null, name: null },
    ]);
    await other.call('notices', { notices: [change({ left: [member] })] });
    expect((await stage.lastEvent(other)).data['left']).toEqual([{ id: lid, username: null, name: null }]);
  });
});

test('an engine without the lease records nothing', async () => {
  engine.lease = { ...engine.lease, holder: newUuid() };
  expect(await readRefusal(report(call(), change()))).toBe('fenced');
  expect(await readRefusal(report(call({ rejected: true })))).toBe('fenced');
  expect(await stage.events(engine)).toEqual([]);
});

describe('the text for a rejected call', () => {
  const text = 'Please write to us.';
  const rejectCalls = (reject_calls: object, instanceId = engine.instanceId) =>
    stage.database.instance.update({ where: { id: instanceId }, data: { policy: { reject_calls } } });
  const sent = () =>
    stage.database.message.findMany({ where: { instanceId: engine.instanceId, direction: 'outbound' } });
  beforeEach(() => rejectCalls({ enabled: true, text }));

  test('is one ordinary message to the caller in an hour', async () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();
    const given = call({ rejected: true, at: at(1) });
    await report(given);
    await Promise.all([report(given), report(given)]);
    await report(call({ rejected: true, at: at(59) }));
    expect(await sent()).toHaveLength(1);
    await report(call({ rejected: true, at: at(61) }));
    const messages = await sent();
    expect(messages.map(({ to, type, status }) => [to, type, status])).toEqual([
      [lid, 'text', 'queued'],
      [lid, 'text', 'queued'],
    ]);
    const [claimed] = await engine.claim();
    expect(JSON.parse(claimed!.content)).toMatchObject({ type: 'text', text: { body: text } });
    expect(await stage.events(engine, 'call.received')).toHaveLength(3);
  });

  test('links no contacts, because the offer of a call may name any phone', async () => {
    await stage.receive(engine, stage.text(ana, 'oi'));
    await report(call({ rejected: true }));
    expect(await sent()).toHaveLength(1);
    const { accountId } = stage.internalApi.world;
    const names = await stage.database.contactName.findMany({
      where: { accountId, name: { in: [lid, ana] } },
    });
    expect(new Set(names.map(({ contactId }) => contactId)).size).toBe(2);
  });

  test('is not sent again when the call was recorded after the text, and the text has changed', async () => {
    const given = call({ rejected: true });
    await report(given);
    await stage.database.noticeSeen.deleteMany({ where: { instanceId: engine.instanceId } });
    await rejectCalls({ enabled: true, text: 'Another text' });
    await report(given);
    expect(await sent()).toHaveLength(1);
    expect(await stage.events(engine, 'call.received')).toHaveLength(2);
  });

  test.each<[string, Partial<CallNotice>]>([
    ['was not rejected', {}],
    ['was of a group', { rejected: true, group: true }],
  ])('is not sent for a call that %s', async (_, given) => {
    await report(call(given));
    expect(await sent()).toEqual([]);
  });

  test.each([{ enabled: true }, { enabled: false, text }, {}])('is not sent with %j', async (policy) => {
    await rejectCalls(policy);
    await report(call({ rejected: true }));
    expect(await sent()).toEqual([]);
    expect(await stage.events(engine, 'call.received')).toHaveLength(1);
  });

  test('is not sent to a contact who opted out under the other id', async () => {
    await stage.receive(engine, stage.text(ana, 'SAIR'));
    await report(call({ rejected: true }));
    expect(await sent()).toEqual([]);
    expect(await stage.events(engine, 'call.received')).toHaveLength(1);
  });

  test('counts as a message to a new contact', async () => {
    const policy = { reject_calls: { enabled: true, text }, new_contacts_per_day: 1 };
    await stage.database.instance.update({ where: { id: engine.instanceId }, data: { policy } });
    const other = { id: stage.someLid(), alt: null, name: null };
    await report(call({ rejected: true }), call({ rejected: true, from: other }));
    expect((await sent()).map(({ to }) => to)).toEqual([lid]);
    expect(await stage.events(engine, 'call.received')).toHaveLength(2);
  });
});

test('the lease names the rule for calls, also when it changes', async () => {
  expect(engine.terms!.reject_calls).toBe(false);
  const policy = { reject_calls: { enabled: true } };
  await stage.database.instance.update({ where: { id: engine.instanceId }, data: { policy } });
  expect(await engine.call('renew', { connected: true })).toMatchObject({ reject_calls: true });
});

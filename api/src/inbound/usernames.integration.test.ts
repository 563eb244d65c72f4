import { newUuid } from '@gwk/core/ids/ids';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';

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

const write = (username?: string, given: object = {}, by = engine) =>
  stage.receive(by, stage.text(lid, 'oi', { ...(username !== undefined && { username }), ...given }));
const updates = async (by = engine) =>
  (await stage.events(by, 'contact.updated')).map(({ data: { contact, previous } }) => ({
    contact,
    previous,
  }));
const storedOfLid = async () => {
  const { accountId } = stage.internalApi.world;
  const where = { accountId_name: { accountId, name: lid } };
  return (await stage.database.contactName.findUnique({ where }))?.username;
};
const now = () => new Date().toISOString();
const report = (given: { username: string | null; at?: string }) =>
  engine.call('usernames', { people: [{ lid, ...given }] });
const names = (username: string | null, phone?: string) => ({ id: lid, ...(phone && { phone }), username });

test('events show the username of a person without a phone number, also in later ones that do not state it', async () => {
  await write('ana.souza');
  await write();
  const events = await stage.events(engine);
  expect(events.map(({ type }) => type)).toEqual(['message.received', 'message.received']);
  for (const { data } of events) {
    expect(data).toMatchObject({ chat: names('ana.souza'), from: { ...names('ana.souza'), name: null } });
  }
  expect(await storedOfLid()).toBe('ana.souza');
});

test('events of sent messages show it, with the reader of a group message', async () => {
  await write('ana.souza');
  const { waMessageId } = await stage.sent(engine, lid);
  expect((await stage.lastEvent(engine, 'message.sent')).data['chat']).toEqual({
    ...names('ana.souza'),
    is_group: false,
  });
  const receipt = { kind: 'receipt', status: 'read', at: new Date().toISOString() } as const;
  await engine.call('outcomes', { outcomes: [{ ...receipt, wa_message_id: waMessageId! }] });
  expect((await stage.lastEvent(engine, 'message.status_updated')).data).not.toHaveProperty(
    'participant_username',
  );

  const toGroup = await stage.sent(engine, GROUP);
  const member = { participant: lid, participant_username: 'ana.souza' };
  await engine.call('outcomes', {
    outcomes: [{ ...receipt, ...member, wa_message_id: toGroup.waMessageId! }],
  });
  const { data } = await stage.lastEvent(engine, 'message.status_updated');
  expect(data).toMatchObject({ ...member, chat: { id: GROUP, is_group: true } });
  expect(data['chat']).not.toHaveProperty('username');
});

test('a receipt of a group message shows the username that this instance knows of the reader', async () => {
  await write('ana.souza', {}, await stage.engine());
  const seen: unknown[] = [];
  for (const username of [undefined, 'ana.s']) {
    if (username !== undefined) await write(username);
    const { waMessageId } = await stage.sent(engine, GROUP);
    const receipt = { kind: 'receipt', status: 'read', at: now(), participant: lid } as const;
    await engine.call('outcomes', { outcomes: [{ ...receipt, wa_message_id: waMessageId! }] });
    const { data } = await stage.lastEvent(engine, 'message.status_updated');
    seen.push(data['participant_username']);
  }
  expect(seen).toEqual([null, 'ana.s']);
});

test('an edit, a deletion and a reaction show it', async () => {
  const message = stage.text(lid, 'oi', { username: 'ana.souza' });
  await stage.receive(engine, message);
  const target = { wa_message_id: message.wa_message_id };
  await write(undefined, { change: { kind: 'edit', ...target, text: 'ola' } });
  await write(undefined, { change: { kind: 'reaction', ...target, emoji: '👍' } });
  await write(undefined, { change: { kind: 'delete', ...target } });
  const events = (await stage.events(engine)).slice(1);
  expect(events.map(({ type, data }) => [type, (data['from'] as { username: string }).username])).toEqual([
    ['message.edited', 'ana.souza'],
    ['message.reaction', 'ana.souza'],
    ['message.deleted', 'ana.souza'],
  ]);
});

test('a quote shows the username of its author', async () => {
  await write('ana.souza');
  const bia = stage.someLid();
  const quote = { quoted_wa_message_id: '3EB0', quoted: { author: lid } };
  await stage.receive(engine, stage.text(bia, 'oi', { chat: GROUP, ...quote }));
  expect((await stage.lastEvent(engine)).data).toMatchObject({
    from: { id: bia, username: null },
    quoted: { id: '3EB0', author: lid, author_username: 'ana.souza' },
  });
  await write(undefined, quote);
  expect((await stage.lastEvent(engine)).data['quoted']).toMatchObject({ author_username: 'ana.souza' });
  await stage.receive(engine, stage.text(bia, 'oi', { ...quote, quoted: { author: stage.someLid() } }));
  expect((await stage.lastEvent(engine)).data['quoted']).toMatchObject({ author_username: null });
});

describe('a changed username is one contact.updated', () => {
  test('with the username before', async () => {
    await write('ana.souza');
    await write('ana.s');
    await write('ana.s');
    expect(await updates()).toEqual([{ contact: names('ana.s'), previous: names('ana.souza') }]);
    expect((await stage.lastEvent(engine, 'message.received')).data['chat']).toMatchObject(names('ana.s'));
  });

  test('of each instance that sees it, from its own messages', async () => {
    const other = await stage.engine();
    await write('ana.souza');
    await write('ana.souza', {}, other);
    await Promise.all([write('ana.s'), write('ana.s', {}, other), write('ana.s')]);
    for (const by of [engine, other]) {
      expect(await updates(by)).toEqual([{ contact: names('ana.s'), previous: names('ana.souza') }]);
      expect((await stage.lastEvent(by, 'message.received')).data['chat']).toMatchObject(names('ana.s'));
    }
  });

  test('also if a message of a group, a call, a change of a group or nothing but the network states it', async () => {
    await write('one');
    await write('two', { chat: GROUP });
    const from = { id: jid(ana), alt: lid, name: null, username: 'three' };
    const at = new Date().toISOString();
    await engine.call('notices', {
      notices: [{ kind: 'group', id: newUuid(), at, chat: GROUP, from, from_me: false, left: [from] }],
    });
    expect((await stage.lastEvent(engine, 'group.updated')).data['from']).toMatchObject({
      username: 'three',
    });
    const unknown = { lid: stage.someLid(), username: 'nobody' };
    await engine.call('usernames', { people: [{ lid, username: 'four', at: now() }, unknown] });
    await engine.call('usernames', { people: [{ lid, username: 'four', at: now() }] });
    const changes = (await updates()).map(({ contact }) => (contact as { username: string }).username);
    expect(changes).toEqual(['two', 'three', 'four']);
    await write();
    expect((await stage.lastEvent(engine, 'message.received')).data['from']).toMatchObject({
      username: 'four',
    });
  });

  test('also if it is removed', async () => {
    await write('ana.souza');
    await report({ username: null, at: now() });
    expect(await updates()).toEqual([{ contact: names(null), previous: names('ana.souza') }]);
    await write();
    expect((await stage.lastEvent(engine, 'message.received')).data['chat']).toMatchObject(names(null));
  });

  test('and none for an older statement, or one of an unknown age', async () => {
    const other = await stage.engine();
    const at = new Date(Date.now() - 60_000).toISOString();
    await write('ana.s', { alt: jid(ana) });
    await write('ana.souza', { at }, other);
    await write('ana.souza', { at, alt: jid(ana) }, other);
    await report({ username: 'ana.souza', at });
    await report({ username: 'ana.souza' });
    await report({ username: null });
    expect(await updates()).toEqual([]);
    expect(await updates(other)).toEqual([
      { contact: names('ana.souza', ana), previous: names('ana.souza') },
    ]);
    expect(await storedOfLid()).toBe('ana.s');
    const from = { id: lid, alt: null, name: null, username: 'ana.souza' };
    const notice = { kind: 'group', id: newUuid(), at, chat: GROUP, from, from_me: false } as const;
    await engine.call('notices', { notices: [{ ...notice, subject: 'Team' }] });
    expect(await updates()).toEqual([]);
  });

  test('a statement of the future does not outlive the next one', async () => {
    await write('one');
    await report({ username: 'two', at: '2199-01-01T00:00:00.000Z' });
    await report({ username: 'three', at: now() });
    expect(await storedOfLid()).toBe('three');
  });

  test('a username of an unknown age is stored if none is known', async () => {
    await write();
    await report({ username: 'ana.souza' });
    expect(await updates()).toEqual([{ contact: names('ana.souza'), previous: names(null) }]);
  });

  test('and none for a member of a group who is no contact', async () => {
    await write('one', { chat: GROUP });
    await write('two', { chat: GROUP });
    expect(await updates()).toEqual([]);
    expect((await stage.lastEvent(engine)).data['from']).toMatchObject({ username: 'two' });
  });
});

describe('ids that become known later', () => {
  test('the phone number of a LID: one event, one contact, one conversation', async () => {
    await write('ana.souza');
    const both = { alt: jid(ana), username: 'ana.souza' };
    await Promise.all([write(undefined, both), write(undefined, both)]);
    expect(await updates()).toEqual([{ contact: names('ana.souza', ana), previous: names('ana.souza') }]);
    const conversations = await stage.database.conversation.findMany({
      where: { instanceId: engine.instanceId },
    });
    expect(conversations).toMatchObject([{ lid, phone: ana, username: 'ana.souza' }]);
  });

  test('the LID of a phone number, with its username', async () => {
    await stage.receive(engine, stage.text(ana, 'oi'));
    await write('ana.souza', { alt: jid(ana) });
    expect(await updates()).toEqual([
      { contact: names('ana.souza', ana), previous: { id: jid(ana), phone: ana, username: null } },
    ]);
  });

  test('two known contacts become one: the one without a LID joins the other', async () => {
    await stage.receive(engine, stage.text(ana, 'oi'));
    await write('ana.souza');
    await Promise.all([
      engine.call('names', { lid, phone: ana }),
      write('ana.souza', { alt: jid(ana) }),
      write('ana.souza', { alt: jid(ana) }),
    ]);
    expect(await updates()).toEqual([
      { contact: names('ana.souza', ana), previous: { id: jid(ana), phone: ana, username: null } },
    ]);
  });

  test('the LID of a phone number in two instances: one event each, when its own engine has seen both', async () => {
    const other = await stage.engine();
    await stage.receive(engine, stage.text(ana, 'oi'));
    await write('ana.souza', { alt: jid(ana) }, other);
    expect(await updates()).toEqual([]);
    await Promise.all([write(undefined, { alt: jid(ana) }), write(undefined, { alt: jid(ana) })]);
    expect(await updates()).toEqual([
      { contact: names(null, ana), previous: { id: jid(ana), phone: ana, username: null } },
    ]);
    expect((await stage.lastEvent(engine, 'message.received')).data['chat']).toMatchObject(names(null, ana));
    expect(await updates(other)).toEqual([]);
  });

  test('no event tells an instance ids that only another one has seen', async () => {
    const other = await stage.engine();
    await write('one');
    await write('one', { alt: jid(ana) }, other);
    await write('two');
    await report({ username: 'three', at: now() });
    expect(await updates()).toEqual([
      { contact: names('two'), previous: names('one') },
      { contact: names('three'), previous: names('two') },
    ]);
  });

  test('a phone number that passes to another LID changes both', async () => {
    const rex = stage.someLid();
    await write('ana.souza', { alt: jid(ana) });
    await stage.receive(engine, stage.text(rex, 'oi'));
    await stage.receive(engine, stage.text(rex, 'oi', { alt: jid(ana) }));
    const seen = await updates();
    expect(seen).toHaveLength(2);
    expect(seen).toContainEqual({ contact: names('ana.souza'), previous: names('ana.souza', ana) });
    expect(seen).toContainEqual({
      contact: { id: rex, phone: ana, username: null },
      previous: { id: rex, username: null },
    });
  });

  test('a new contact whose both ids come with its first message is no change', async () => {
    await write('ana.souza', { alt: jid(ana) });
    await write('ana.souza', { alt: jid(ana) });
    expect(await updates()).toEqual([]);
    expect(await storedOfLid()).toBe('ana.souza');
  });
});

test('an opt-out of a person without a phone number holds under the phone number that becomes known', async () => {
  await write('ana.souza', { text: 'SAIR' });
  expect((await stage.lastEvent(engine, 'contact.opted_out')).data['contact']).toEqual({
    ...names('ana.souza'),
    name: null,
  });
  await write('ana.souza', { alt: jid(ana) });
  const sends = [lid, ana].map((to) => stage.internalApi.accept({ instance: engine.instanceId, to }));
  for (const send of await Promise.allSettled(sends)) {
    expect(send).toMatchObject({ reason: { code: 'contact-opted-out' } });
  }
  await write('ana.souza', { text: 'VOLTAR' });
  await stage.internalApi.accept({ instance: engine.instanceId, to: ana });
});

test('a new contact without a phone number is the same new contact under the phone number', async () => {
  const limited = await stage.engine({ policy: { new_contacts_per_day: 1 } });
  const accept = (to: string) => stage.internalApi.accept({ instance: limited.instanceId, to });
  await accept(lid);
  await limited.call('usernames', { people: [{ lid, username: 'ana.souza' }] });
  await limited.call('names', { lid, phone: ana });
  await accept(ana);
  await expect(accept(stage.someone())).rejects.toMatchObject({ code: 'policy-new-contacts-limit' });
  const conversations = await stage.database.conversation.findMany({
    where: { instanceId: limited.instanceId },
  });
  expect(conversations).toMatchObject([{ lid, phone: ana, username: 'ana.souza' }]);
  expect(await updates(limited)).toEqual([
    { contact: names('ana.souza'), previous: names(null) },
    { contact: names('ana.souza', ana), previous: names('ana.souza') },
  ]);
});

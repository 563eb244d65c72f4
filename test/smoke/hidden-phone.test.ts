import { newNumber, openNumber, type NumberStage } from './number-stage.js';
import type { Page } from '@gwk/core/resources/common';
import type { GroupDetailsOut } from '@gwk/core/resources/group';
import type { ContactCheckOut } from '@gwk/core/resources/live';
import type { MessageOut } from '@gwk/core/resources/message';
import type { OptOutOut } from '@gwk/api/resources/opt-out';
import type { Person } from '@gwk/network/control/client';
import { until } from '../support/wait.js';

/**
 * A person with a username, whose phone number the network shows to nobody at first, through real processes and the real
 * protocol.
 */
let stage: NumberStage;
let eva: Person;
let path: string;
beforeAll(async () => {
  stage = await openNumber('hidden-phone');
  await stage.pair();
  eva = await stage.network.contact(newNumber(), { name: 'Eva', username: 'eva.named', phoneHidden: true });
  path = `/hidden-phone/${stage.id}`;
  await subscribe(path, []);
});

async function subscribe(to: string, event_types: string[]): Promise<void> {
  const { receiver } = stage.gateway;
  const { secret } = await client().createWebhook(receiver.url(to), { event_types });
  await receiver.setSecret(to, secret!);
}
const client = () => stage.customer.client;
const named = () => ({ id: eva.lidJid, username: 'eva.named' });
const send = (to: string, content: Record<string, unknown>) =>
  client().call<MessageOut>('POST', '/v1/messages', { body: { instance_id: stage.id, to, ...content } });
const text = (body: string) => ({ type: 'text', text: { body } });
/** Sends a message and waits until the phone of Eva has confirmed it. */
async function delivered(to: string, content: Record<string, unknown>): Promise<MessageOut> {
  const { status, body } = await send(to, content);
  expect(status).toBe(202);
  return until(
    async () => {
      const message = await client().message(body.id);
      return message.status === 'delivered' && message;
    },
    { what: 'the message is delivered' },
  );
}
/** Data of a webhook call, which names Eva by the id alone. */
async function called(type: string, fits: (data: Record<string, unknown>) => boolean = () => true) {
  const call = await until(
    async () => (await stage.gateway.receiver.calls(path)).find((one) => one.type === type && fits(one.data)),
    { what: `${type} is delivered` },
  );
  expect(JSON.stringify(call.data)).not.toContain(eva.number);
  return call.data;
}
/** Data of an event, also of types that webhooks get only by name. */
const listed = (type: string, fits: (data: Record<string, unknown>) => boolean = () => true) =>
  until(
    async () => {
      // Unfiltered, because opt-outs have no filter.
      const events = await client().events({ instance_id: stage.id });
      return events.find((event) => event.type === type && fits(event.data))?.data;
    },
    { what: type },
  );
const expectRefused = async () => {
  const { status, body } = await send(eva.lidJid, text('refused'));
  const type = expect.stringMatching(/contact-opted-out$/) as string;
  expect([status, body]).toMatchObject([422, { type }]);
};

test('is looked up, shown typing, and answered by the id of an event', async () => {
  const wa_message_id = await eva.writes('oi', { to: stage.phone.number });
  const { chat, from } = await called('message.received', (data) => data['wa_message_id'] === wa_message_id);
  expect([chat, from]).toMatchObject([
    { ...named(), is_group: false },
    { ...named(), name: 'Eva' },
  ]);
  expect(from).not.toHaveProperty('phone');
  const at = `/v1/instances/${stage.id}`;
  expect(await client().expect<ContactCheckOut>(200, 'GET', `${at}/contacts/${eva.lidJid}`)).toEqual({
    ...{ phone: null, exists: true, jid: eva.lidJid, lid: eva.lidJid, ...named() },
  });
  await client().expect(204, 'POST', `${at}/chats/${eva.lidJid}/presence`, { body: { state: 'typing' } });
  const marks = { wa_message_ids: [wa_message_id] };
  await client().expect(204, 'POST', `${at}/chats/${eva.lidJid}/read`, { body: marks });
  await stage.network.waitReceipt({ id: wa_message_id, type: 'read' });
  const sent = await delivered(eva.lidJid, text('answer'));
  const answer = await eva.receives({ id: sent.wa_message_id! });
  expect(answer.text).toBe('answer');
  await called('message.sent', (data) => data['message_id'] === sent.id);
  await eva.reads(answer);
  const read = (data: Record<string, unknown>) => data['message_id'] === sent.id && data['status'] === 'read';
  expect(await called('message.status_updated', read)).toMatchObject({ chat: named() });
  const { data } = await client().expect<Page<MessageOut>>(200, 'GET', `/v1/messages?to=${eva.lidJid}`);
  expect(data.map(({ direction }) => direction).sort()).toEqual(['inbound', 'outbound']);
});

test('edits, reactions and deletions reach the person', async () => {
  const { id } = await delivered(eva.lidJid, text('one'));
  await client().expect(200, 'PATCH', `/v1/messages/${id}`, { body: { text: 'two' } });
  await client().expect(204, 'POST', `/v1/messages/${id}/reactions`, { body: { emoji: '👍' } });
  await client().expect(204, 'DELETE', `/v1/messages/${id}`);
  const changes = await until(
    async () => {
      const read = (await eva.inbox()).filter(
        ({ message }) => message?.protocolMessage ?? message?.reactionMessage ?? message?.editedMessage,
      );
      return read.length >= 3 && read;
    },
    { what: 'the changes arrive' },
  );
  expect(changes).toHaveLength(3);
});

test('chooses in a menu and votes in a poll', async () => {
  const buttons = ['yes', 'no'].map((id) => ({ type: 'reply', id, label: id }));
  const menu = await delivered(eva.lidJid, { type: 'interactive', interactive: { body: 'Well?', buttons } });
  await eva.taps({ id: menu.wa_message_id! }, 'no');
  const { reply, from } = await called('message.interactive_reply');
  expect([reply, from]).toMatchObject([{ option_id: 'no', in_reply_to: menu.id }, named()]);
  const options = ['a', 'b'].map((id) => ({ id, label: id }));
  const poll = await delivered(eva.lidJid, { type: 'poll', poll: { name: 'Which?', options } });
  await eva.votes({ id: poll.wa_message_id! }, ['b']);
  const ofPoll = ({ reply: vote }: Record<string, unknown>) =>
    (vote as { in_reply_to: string }).in_reply_to === poll.id;
  expect(await called('message.interactive_reply', ofPoll)).toMatchObject({ reply: { option_id: 'b' } });
});

test('is quoted, mentioned, promoted and votes in a group', async () => {
  const group = await stage.network.group('Friends', [stage.ana, stage.phone, eva]);
  const wa_message_id = await eva.writes('hello all', { to: group });
  const { message_id, from } = await called('message.received', (d) => d['wa_message_id'] === wa_message_id);
  expect(from).toMatchObject(named());
  const mentions = [eva.lidJid];
  const body = `hello @${eva.lidJid.split('@')[0]!}`;
  const sent = await delivered(group, { ...text(body), reply_to: message_id, mentions });
  expect((await eva.receives({ id: sent.wa_message_id! })).message).toMatchObject({
    extendedTextMessage: {
      text: body,
      contextInfo: { stanzaId: wa_message_id, participant: eva.lidJid, mentionedJid: mentions },
    },
  });
  const options = ['a', 'b'].map((id) => ({ id, label: id }));
  const poll = await delivered(group, { type: 'poll', poll: { name: 'Which?', options, selectable: 1 } });
  await eva.votes(await eva.receives({ id: poll.wa_message_id! }), ['b']);
  const ofPoll = ({ reply }: Record<string, unknown>) =>
    (reply as { in_reply_to: string }).in_reply_to === poll.id;
  expect(await called('message.interactive_reply', ofPoll)).toMatchObject({
    from: named(),
    reply: { option_id: 'b' },
  });
  const at = `/v1/instances/${stage.id}/groups/${group}`;
  const { members } = await client().expect<GroupDetailsOut>(200, 'GET', at);
  expect(members).toContainEqual({ lid: eva.lidJid, phone: null, username: 'eva.named', role: 'member' });
  await stage.network.changeGroup(group, { promote: [eva.number] });
  expect(await listed('group.updated', ({ promoted }) => promoted !== undefined)).toMatchObject({
    promoted: [named()],
  });
});

test('opts out and in again, by word and by API', async () => {
  await eva.writes('SAIR', { to: stage.phone.number });
  expect(await called('contact.opted_out')).toMatchObject({ contact: named() });
  await expectRefused();
  const optOuts = () => client().expect<Page<OptOutOut>>(200, 'GET', `/v1/opt-outs?contact=${eva.lidJid}`);
  const person = { phone: null, contact_id: eva.lidJid, username: 'eva.named' };
  expect((await optOuts()).data).toMatchObject([{ ...person, source: 'keyword' }]);
  await eva.writes('VOLTAR', { to: stage.phone.number });
  expect(await called('contact.opted_in')).toMatchObject({ contact: named() });
  await delivered(eva.lidJid, text('welcome back'));
  await client().expect(201, 'POST', '/v1/opt-outs', { body: { contact: eva.lidJid } });
  await expectRefused();
  await client().expect(204, 'DELETE', `/v1/opt-outs/${eva.lidJid}`);
  await delivered(eva.lidJid, text('once more'));
});

test('keeps the opt-out when the username changes and the network tells the phone number', async () => {
  const updates = `${path}/updates`;
  await subscribe(updates, ['contact.updated']);
  await client().expect(201, 'POST', '/v1/opt-outs', { body: { contact: eva.lidJid } });
  await eva.renames('eva.n');
  const renamed = { ...named(), username: 'eva.n' };
  const isRenamed = ({ contact }: Record<string, unknown>) => !('phone' in (contact as object));
  expect(await listed('contact.updated', isRenamed)).toMatchObject({ contact: renamed, previous: named() });
  await eva.showsPhone();
  const wa_message_id = await eva.writes('my number', { to: stage.phone.number });
  const { from } = await listed('message.received', (data) => data['wa_message_id'] === wa_message_id);
  const whole = { ...renamed, phone: eva.number };
  expect(from).toMatchObject(whole);
  const calls = await until(
    async () => {
      const made = await stage.gateway.receiver.calls(updates);
      return made.length >= 2 && made;
    },
    { what: 'both changes are delivered' },
  );
  expect(calls.map(({ data }) => data)).toContainEqual(
    expect.objectContaining({ contact: whole, previous: renamed }),
  );
  expect((await send(eva.number, text('refused'))).status).toBe(422);
  await eva.writes('VOLTAR', { to: stage.phone.number });
  const isKnown = ({ contact }: Record<string, unknown>) => 'phone' in (contact as object);
  expect(await listed('contact.opted_in', isKnown)).toMatchObject({ contact: whole });
  await delivered(eva.number, text('welcome back'));
  await client().expect(201, 'POST', '/v1/opt-outs', { body: { contact: eva.lidJid } });
  await client().expect(204, 'DELETE', `/v1/opt-outs/${eva.number}`);
  await delivered(eva.lidJid, text('by the id'));
  expect(await stage.eventsOf('contact.updated')).toHaveLength(2);
});

import type { MessageOut } from '@gwk/core/resources/message';
import type { GroupDetailsOut } from '@gwk/core/resources/group';
import { newNumber, openNumber, type NumberStage } from './number-stage.js';
import { until } from '../support/wait.js';

/** A person with a username, whose phone number the network hides at first, writes with a real instance. */
let stage: NumberStage;
let bia: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await openNumber('usernames');
  const { network, phone, ana } = stage;
  bia = await network.contact(newNumber(), { name: 'Bia', username: 'bia.costa', phoneHidden: true });
  group = await network.group('Team', [ana, phone, bia]);
  await stage.pair();
});

const send = (to: string, content: object) =>
  stage.customer.client.call<MessageOut>('POST', '/v1/messages', {
    body: { instance_id: stage.id, to, ...content },
  });
const text = (body: string) => ({ type: 'text', text: { body } });
/** Unfiltered, because opt-outs have no filter. */
const one = (type: string, fits: (data: Record<string, unknown>) => boolean = () => true) =>
  until(
    async () => {
      const events = await stage.customer.client.events({ instance_id: stage.id });
      return events.find((event) => event.type === type && fits(event.data))?.data;
    },
    { what: type },
  );
/** Sends a message that arrives. */
async function sends(to: string, content: object): Promise<MessageOut & { wa_message_id: string }> {
  const { status, body } = await send(to, content);
  expect(status).toBe(202);
  const data = await one('message.sent', ({ message_id }) => message_id === body.id);
  return { ...body, wa_message_id: data['wa_message_id'] as string };
}
const person = () => ({ id: bia.lidJid, username: 'bia.costa' });

test('a message and the answer to it', async () => {
  await bia.writes('hello', { to: stage.phone.number });
  const received = await one('message.received');
  expect(received).toMatchObject({ chat: person(), from: { ...person(), name: 'Bia' }, text: 'hello' });
  expect(received['from']).not.toHaveProperty('phone');
  const { id, wa_message_id } = await sends(bia.lidJid, text('hello Bia'));
  await bia.reads(await bia.receives({ id: wa_message_id }));
  const read = await one(
    'message.status_updated',
    (data) => data['message_id'] === id && data['status'] === 'read',
  );
  expect(read).toMatchObject({ chat: person() });
});

test('a tap on a menu, and a vote in a group', async () => {
  const buttons = [{ type: 'reply', label: 'Yes', id: 'y' }];
  const menu = await sends(bia.lidJid, { type: 'interactive', interactive: { body: 'Well?', buttons } });
  await bia.taps(await bia.receives({ id: menu.wa_message_id }), 'y');
  const options = [
    { id: 'a', label: 'A' },
    { id: 'b', label: 'B' },
  ];
  const poll = await sends(group, { type: 'poll', poll: { name: 'Which?', options, selectable: 1 } });
  await bia.votes(await bia.receives({ id: poll.wa_message_id }), ['B']);
  for (const [{ id }, option_id] of [
    [menu, 'y'],
    [poll, 'b'],
  ] as const) {
    const fits = ({ reply }: Record<string, unknown>) =>
      (reply as { in_reply_to: string }).in_reply_to === id;
    expect(await one('message.interactive_reply', fits)).toMatchObject({
      from: person(),
      reply: { option_id },
    });
  }
});

test('a member of a group', async () => {
  const path = `/v1/instances/${stage.id}/groups/${group}`;
  const { members } = await stage.customer.client.expect<GroupDetailsOut>(200, 'GET', path);
  expect(members).toContainEqual({ lid: bia.lidJid, phone: null, username: 'bia.costa', role: 'member' });
  await stage.network.changeGroup(group, { promote: [bia.number] });
  expect(await one('group.updated', ({ promoted }) => promoted !== undefined)).toMatchObject({
    promoted: [person()],
  });
});

test('an opt-out, and one contact once the phone number is known and the username has changed', async () => {
  await bia.writes('SAIR', { to: stage.phone.number });
  expect(await one('contact.opted_out')).toMatchObject({ contact: person() });
  await bia.renames('bia.c');
  expect(await one('contact.updated')).toMatchObject({
    contact: { ...person(), username: 'bia.c' },
    previous: person(),
  });
  await bia.showsPhone();
  await bia.writes('my number', { to: stage.phone.number });
  const names = { id: bia.lidJid, username: 'bia.c' };
  const linked = await one('contact.updated', ({ contact }) => 'phone' in (contact as object));
  expect(linked).toMatchObject({ contact: { ...names, phone: bia.number }, previous: names });
  expect((await send(bia.number, text('no'))).status).toBe(422);
  await bia.writes('VOLTAR', { to: stage.phone.number });
  expect(await one('contact.opted_in')).toMatchObject({ contact: { ...names, phone: bia.number } });
  await sends(bia.number, text('welcome back'));
  expect(await stage.eventsOf('contact.updated')).toHaveLength(2);
});

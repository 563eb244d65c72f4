import type { Message } from '../messages/status-badge';
import { buildRows, findLastReceived, type Event, type MessageRow } from './rows.js';

const ANA = { id: '1@lid', phone: '5511987654321', username: null, name: 'Ana' };
const EVA = { id: '2@lid', username: null, name: 'Eva' };
const CHAT = { id: ANA.id, is_group: false };

const at = (minute: number) => `2026-03-02T12:${String(minute).padStart(2, '0')}:00.000Z`;
const sent = (id: string, minute: number, more: Partial<Message> = {}) =>
  ({
    id,
    direction: 'outbound',
    type: 'text',
    status: 'queued',
    wa_message_id: null,
    error: null,
    created_at: at(minute),
    ...more,
  }) as Message;
const received = (id: string, minute: number, more: Partial<Message> = {}) =>
  sent(id, minute, { direction: 'inbound', status: 'delivered', wa_message_id: `WA ${id}`, ...more });

let count = 0;
beforeEach(() => (count = 0));
/** Each event has a later id than the one before. */
const event = (type: Event['type'], minute: number, data: object) =>
  ({
    id: `evt_${String(++count).padStart(3, '0')}`,
    type,
    timestamp: at(minute),
    data: { timestamp: at(minute), chat: CHAT, ...data },
  }) as Event;
const text = (id: string, minute: number, body: string, more: object = {}) =>
  event('message.received', minute, {
    message_id: id,
    wa_message_id: `WA ${id}`,
    from: ANA,
    from_me: false,
    type: 'text',
    text: body,
    ...more,
  });

const build = (messages: Message[], events: Event[], more: Partial<Parameters<typeof buildRows>[0]> = {}) =>
  buildRows({ messages, events, sent: {}, from: null, ...more });
const only = (messages: Message[], events: Event[], more = {}) =>
  build(messages, events, more)[0] as MessageRow;

test('shows received texts and sent states in the order of time', () => {
  const rows = build([sent('m2', 2, { status: 'read' }), received('m1', 1)], [text('m1', 1, 'Oi')], {
    sent: { m2: { type: 'text', text: 'Bom dia' } },
  });
  expect(rows).toMatchObject([
    { id: 'm1', isMine: false, author: ANA, status: null, content: { text: 'Oi' } },
    { id: 'm2', isMine: true, author: null, status: 'read', content: { text: 'Bom dia' } },
  ]);
  expect(findLastReceived(rows)).toBe(at(1));
});

test('a message shows when it was written, in the place at which it arrived', () => {
  const rows = build([sent('m1', 1), received('m2', 5)], [text('m2', 0, 'Oi')]);
  expect(rows.map(({ id, time }) => [id, time])).toEqual([
    ['m1', at(1)],
    ['m2', at(0)],
  ]);
  expect(findLastReceived(rows)).toBe(at(0));
});

test('a reply of this page shows what it quotes', () => {
  const content = { type: 'text' as const, text: 'Sim', quoted_wa_message_id: 'WA m1' };
  const rows = build([received('m1', 1), sent('m2', 2)], [text('m1', 1, 'Oi')], { sent: { m2: content } });
  expect((rows[1] as MessageRow).quoted?.row?.content?.text).toBe('Oi');
});

test('a sent message without its text shows type, time and state', () => {
  expect(only([sent('m1', 1, { type: 'poll' })], [])).toMatchObject({
    type: 'poll',
    content: null,
    time: at(1),
    status: 'queued',
  });
});

test.each<[string, Message['status'], string, object, Message['status']]>([
  ['an event after the list', 'queued', 'message.sent', { wa_message_id: 'X' }, 'sent'],
  ['a receipt', 'sent', 'message.status_updated', { status: 'delivered' }, 'delivered'],
  ['an event before the list', 'read', 'message.status_updated', { status: 'delivered' }, 'read'],
  ['a failure', 'sending', 'message.failed', { error: { code: 'expired', message: null } }, 'failed'],
  ['no failure of what was sent', 'sent', 'message.failed', { error: { code: 'timeout' } }, 'sent'],
])('a state comes from %s', (...[, listed, type, data, shown]) => {
  const row = only(
    [sent('m1', 1, { status: listed })],
    [event(type as Event['type'], 2, { message_id: 'm1', ...data })],
  );
  expect(row.status).toBe(shown);
  expect(row.error !== null).toBe(shown === 'failed');
});

const reaction = (emoji: string, by: object) =>
  event('message.reaction', 3, { message_id: 'm1', emoji, ...by });

test('reactions are on their message, the last one of each person', () => {
  const row = only(
    [received('m1', 1)],
    [
      text('m1', 1, 'Oi'),
      reaction('👍', { from_me: false, from: ANA }),
      reaction('❤️', { from_me: false, from: ANA }),
      reaction('🙏', { from_me: true }),
      reaction('😮', { from_me: false, from: EVA }),
      reaction('', { from_me: false, from: EVA }),
    ],
  );
  expect(row.reactions).toEqual([
    { from: ANA, emoji: '❤️' },
    { from: null, emoji: '🙏' },
  ]);
});

test('edits replace the text, deletions are marked, whatever the order of the lists', () => {
  const events = [
    text('m1', 1, 'Oi'),
    text('m2', 2, 'Tchau'),
    event('message.edited', 3, { message_id: 'm1', text: 'Olá', from_me: false, from: ANA }),
    event('message.deleted', 4, { message_id: 'm2', from_me: false, from: ANA }),
  ];
  expect(build([received('m2', 2), received('m1', 1)], events.toReversed())).toMatchObject([
    { content: { text: 'Olá' }, isEdited: true, isDeleted: false },
    { isEdited: false, isDeleted: true },
  ]);
});

test('a quote has the message that it quotes, if it is loaded', () => {
  const messages = [received('m1', 1), received('m2', 2), received('m3', 3)];
  const quote = (id: string) => ({ quoted: { id, author_username: null }, quoted_wa_message_id: id });
  const rows = build(messages, [
    text('m1', 1, 'Oi'),
    text('m2', 2, 'Sim', quote('WA m1')),
    text('m3', 3, 'Não', quote('WA old')),
  ]) as MessageRow[];
  expect(rows.map(({ quoted }) => quoted && [quoted.waId, quoted.row?.id])).toEqual([
    null,
    ['WA m1', 'm1'],
    ['WA old', undefined],
  ]);
});

const choice = (id: string, [minute, from, label]: [number, object, string], more: object = {}) =>
  event('message.interactive_reply', minute, {
    message_id: id,
    wa_message_id: `WA ${id}`,
    from,
    from_me: false,
    type: 'text',
    text: label,
    reply: { option_id: label, label, source: 'poll', in_reply_to: 'poll', ...more },
  });

test('a poll has its votes, and a withdrawn vote no longer counts', () => {
  const rows = build(
    [sent('poll', 1, { type: 'poll' }), received('v1', 2)],
    [
      choice('v1', [2, ANA, 'Manhã']),
      choice('v2', [2, EVA, 'Manhã']),
      choice('v3', [3, ANA, 'Tarde']),
      choice('v4', [4, ANA, 'Tarde'], { vote_removed: true }),
      choice('v5', [5, ANA, 'Manhã']),
    ],
    { from: at(1) },
  );
  expect(rows).toMatchObject([{ answers: [{ label: 'Manhã', people: [EVA, ANA] }] }]);
});

test('the choice of a menu is a message that says what it answers', () => {
  const rows = build(
    [sent('poll', 1, { type: 'interactive' }), received('m2', 2)],
    [choice('m2', [2, ANA, 'Sim'], { source: 'button' })],
  );
  expect(rows[1]).toMatchObject({ id: 'm2', reply: { label: 'Sim', in_reply_to: 'poll' } });
});

test('a message of the own phone without a record, calls and changes of the group are shown', () => {
  const rows = build(
    [],
    [
      event('message.sent_from_device', 1, { from: ANA, from_me: true, type: 'text', text: 'A todos' }),
      event('call.received', 2, { from: ANA, video: true }),
      event('group.updated', 3, { subject: 'Novo' }),
      event('contact.opted_out', 4, { keyword: 'SAIR' }),
    ],
  );
  expect(rows).toMatchObject([
    { kind: 'message', id: 'evt_001', messageId: null, isMine: true, content: { text: 'A todos' } },
    { kind: 'notice', event: { type: 'call.received' } },
    { kind: 'notice', event: { type: 'group.updated' } },
    { kind: 'notice', event: { type: 'contact.opted_out' } },
  ]);
});

test('events before the loaded messages wait for them', () => {
  const events = [text('m1', 1, 'Oi'), event('call.received', 2, { from: ANA }), text('m2', 3, 'Olá')];
  expect(build([received('m2', 3)], events, { from: at(3) }).map(({ id }) => id)).toEqual(['m2']);
});

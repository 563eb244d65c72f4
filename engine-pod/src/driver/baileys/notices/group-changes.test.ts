import type { BinaryNode } from '@whiskeysockets/baileys';
import { MAX_NOTICE_MEMBERS } from '@gwk/core/protocol/sizes';
import { parseGroupChange } from './group-changes.js';

const GROUP = '120363000000000001@g.us';
const OWN = '10001@lid';

const node = (
  tag: string,
  attrs: Record<string, string> = {},
  content?: BinaryNode['content'],
): BinaryNode => {
  return { tag, attrs, ...(content !== undefined && { content }) };
};
const members = (tag: string, ...ids: string[]) => node(tag, {}, ids.map((jid) => node('participant', { jid }))); // prettier-ignore
const parse = (content: BinaryNode[], attrs: Record<string, string> = {}) => {
  const usual = { from: GROUP, id: 'n1', type: 'w:gp2', t: '1700000000', participant: '20002@lid' };
  return parseGroupChange(node('notification', { ...usual, ...attrs }, content), (jid) => jid === OWN);
};

test('cuts a long list, and still finds the own role in it', () => {
  const ids = Array.from({ length: MAX_NOTICE_MEMBERS + 1 }, (_, at) => `${30_000 + at}@lid`);
  const change = parse([members('add', ...ids, OWN)])!;
  expect(change.joined).toHaveLength(MAX_NOTICE_MEMBERS);
  expect(change).toMatchObject({ is_truncated: true, role: 'member', at: '2023-11-14T22:13:20.000Z' });
  expect(parse([members('add', ...ids.slice(1))])).not.toHaveProperty('is_truncated');
});

test('cuts long texts', () => {
  const body = node('body', {}, Buffer.from('é'.repeat(6_000)));
  const change = parse([node('subject', { subject: 'x'.repeat(2_000) }), node('description', {}, [body])])!;
  expect([change.subject!.length, change.description!.length, change.is_truncated]).toEqual([
    1_000,
    5_000,
    true,
  ]);
});

test.each<[string, BinaryNode[], Record<string, string>]>([
  ['a change of another kind', [node('invite', { code: 'x' })], {}],
  ['a name of Object.prototype', [node('constructor')], {}],
  ['nothing', [], {}],
  ['a subject without a text', [node('subject')], {}],
  ['a timer that is no number', [node('ephemeral', { expiration: 'soon' })], {}],
  ['a timer beyond the range', [node('ephemeral', { expiration: '4294967296' })], {}],
  ['no group', [members('add', '30000@lid')], { from: '30000@lid' }],
  ['an id that is too long', [members('add', '30000@lid')], { id: 'x'.repeat(201) }],
])('reports nothing of %s', (_, content, attrs) => {
  expect(parse(content, attrs)).toBeNull();
});

test('ignores people whose ids have no known form, and a time of the future', () => {
  const change = parse([members('add', 'x@bot', '30000@lid')], {
    participant: 'x@bot',
    t: '99999999999999',
  })!;
  expect(change).toMatchObject({ joined: [{ id: '30000@lid' }], from: null, from_me: false });
  expect(Date.parse(change.at)).toBeLessThanOrEqual(Date.now());
});

test('recognises who leaves by the other id of the author', () => {
  const phone = '5511900000001@s.whatsapp.net';
  expect(parse([members('remove', phone)], { participant_pn: phone })).toMatchObject({ reason: 'leave' });
  expect(parse([members('remove', phone)])).toMatchObject({ reason: 'remove' });
});

test('a group that is deleted has no members', () => {
  expect(parse([node('delete', { reason: 'x' })])).toMatchObject({ reason: 'delete', role: null });
});

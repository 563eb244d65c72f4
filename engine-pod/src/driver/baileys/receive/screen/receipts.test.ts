import type { BinaryNode } from '@whiskeysockets/baileys';
import { parseReceipts } from './receipts.js';

const node = (tag: string, attrs: Record<string, string>, content?: BinaryNode[]): BinaryNode => ({
  tag,
  attrs,
  ...(content && { content }),
});
const receipt = (attrs: Record<string, string>, content?: BinaryNode[]) =>
  parseReceipts(node('receipt', { id: 'A', t: '1', ...attrs }, content), (jid) => jid.startsWith('me@'));
const at = new Date(1_000);

test('a receipt of several messages', () => {
  const list = node('list', {}, [node('item', { id: 'B' }), node('item', {}), node('item', { id: 'C' })]);
  expect(receipt({ from: '2@lid', type: 'read' }, [list])).toEqual(
    ['A', 'B', 'C'].map((waMessageId) => ({ waMessageId, status: 'read', at })),
  );
});

test('a receipt of several members of a group, about several messages', () => {
  const members = (key: string, ...jids: string[]) =>
    node('participants', { key }, jids.map((jid) => node('user', { jid, t: '2' }))); // prettier-ignore
  const content = [members('B', '2@lid', 'me@lid'), members('C', '3@lid'), node('participants', {})];
  expect(receipt({ from: '1@g.us' }, content)).toEqual(
    [
      { waMessageId: 'B', participant: '2@lid' },
      { waMessageId: 'C', participant: '3@lid' },
    ].map((of) => ({ ...of, status: 'delivered', at: new Date(2_000) })),
  );
});

test('a receipt of one device of a member of a group', () => {
  expect(receipt({ from: '1@g.us', participant: '2:7@lid', type: 'played' })).toEqual([
    { waMessageId: 'A', status: 'read', played: true, participant: '2@lid', at },
  ]);
});

test.each([
  ['of the own devices', { from: '1@g.us', participant: 'me@lid' }],
  ['that asks for a resend', { from: '2@lid', type: 'retry' }],
])('nothing for a receipt %s', (_, attrs) => {
  expect(receipt(attrs)).toEqual([]);
});

test('at most 5,000 messages of a receipt', () => {
  const items = Array.from({ length: 6_000 }, (_, n) => node('item', { id: `${n}` }));
  expect(receipt({ from: '2@lid' }, [node('list', {}, items)])).toHaveLength(5_000);
});

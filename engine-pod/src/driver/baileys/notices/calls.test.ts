import type { BinaryNode } from '@whiskeysockets/baileys';
import { parseCall } from './calls.js';

const EVE = '20002@lid';
const PHONE = '5511900000002@s.whatsapp.net';
const VICTIM = '30003@lid';
const GROUP = '120363000000000001@g.us';

const parse = (offer: Record<string, string>, attrs: Record<string, string> = {}) => {
  const content: BinaryNode[] = [
    { tag: 'offer', attrs: { 'call-id': 'c1', 'call-creator': `${EVE.replace('@', ':3@')}`, ...offer } },
  ];
  return parseCall(
    { tag: 'call', attrs: { from: EVE, id: 'n1', t: '1700000000', ...attrs }, content },
    () => false,
  );
};

test('names the caller whom the network states, not another creator in the offer', () => {
  expect(parse({ caller_pn: PHONE })!.notice.from).toMatchObject({ id: EVE, alt: PHONE });
  const forged = parse({ 'call-creator': VICTIM, caller_pn: PHONE })!;
  expect(forged.notice.from).toMatchObject({ id: EVE, alt: null });
});

test('names the creator of a call that comes from a group', () => {
  const call = parse({ caller_pn: PHONE, 'group-jid': GROUP }, { from: GROUP })!;
  expect(call.notice).toMatchObject({ from: { id: EVE, alt: PHONE }, group: true, chat: GROUP });
});

test('reports a call without the group if its id has no known form', () => {
  const call = parse({ 'group-jid': `${'x'.repeat(200)}@g.us` })!;
  expect(call.notice).toMatchObject({ group: true, chat: null });
});

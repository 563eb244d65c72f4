import type { OutboundContent } from '@gwk/core/resources/message';
import { resolveMentions, rewriteContent } from './mentions.js';

const OWN = '1@lid';
/** The network lists members by LID, with or without their phone numbers. */
const members = {
  participants: [
    { id: OWN, phoneNumber: '5511900000001@s.whatsapp.net' },
    { id: '22222@lid', phoneNumber: '554789211988@s.whatsapp.net' },
    { id: '33333@lid' },
  ],
};
const LIDS: Record<string, string> = { '5511900000003': '33333@lid', '5511900000009': '99999@lid' };
const search = {
  findLids: async (phones: readonly string[]) =>
    new Map(phones.flatMap((phone) => (LIDS[phone] ? [[phone, LIDS[phone]] as const] : []))),
  isOwn: (jid: string) => jid === OWN,
};
const resolve = (mentions: string[], more = {}) => resolveMentions(mentions, members, { ...search, ...more });

test.each([
  ['the phone number of a member', ['5511900000001'], [OWN]],
  ['a Brazilian member with the ninth digit', ['5547989211988@s.whatsapp.net'], ['22222@lid']],
  ['a Brazilian member without it', ['554789211988'], ['22222@lid']],
  ['a member whom the network lists without a phone number', ['+5511900000003'], ['33333@lid']],
  ['a LID', ['22222@lid'], ['22222@lid']],
  ['one person twice', ['5511900000003', '33333@lid'], ['33333@lid']],
  ['everybody but oneself', ['all', '22222@lid'], ['22222@lid', '33333@lid']],
])('finds %s', async (_, mentions, jids) => {
  expect((await resolve(mentions)).jids).toEqual(jids);
});

test('looks up all hidden members at once', async () => {
  const asked: (readonly string[])[] = [];
  const findLids = (phones: readonly string[]) => {
    asked.push(phones);
    return search.findLids(phones);
  };
  await resolve(['5511900000003', '554789211988', '5511900000003', '5511900000009'], {
    findLids,
    skipStrangers: true,
  });
  expect(asked).toEqual([['5511900000003', '5511900000009']]);
});

test.each([['5511900000009'], ['5511988887777'], ['44444@lid']])(
  'refuses %s, who is not a member, and skips them in an edit',
  async (stranger) => {
    await expect(resolve(['22222@lid', stranger])).rejects.toMatchObject({
      ...{ code: 'wa_error', certain: true, retriable: false },
      text: 'mentions.1 is not a member of the group',
    });
    const { jids } = await resolve(['22222@lid', stranger], { skipStrangers: true });
    expect(jids).toEqual(['22222@lid']);
  },
);

test('uses phone numbers in a group that does', async () => {
  const byPhone = { participants: [{ id: '5511900000002@s.whatsapp.net', lid: '22222@lid' }] };
  const { jids, rewrite } = await resolveMentions(['22222@lid'], byPhone, search);
  expect(jids).toEqual(['5511900000002@s.whatsapp.net']);
  expect(rewrite('@22222')).toBe('@5511900000002');
});

test('leaves mentions outside groups as they are', async () => {
  const { jids, rewrite } = await resolveMentions(['5511900000003', '7@lid'], null, search);
  expect(jids).toEqual(['5511900000003@s.whatsapp.net', '7@lid']);
  expect(rewrite('@5511900000003')).toBe('@5511900000003');
});

test.each([
  ['oi @5511900000003', 'oi @33333'],
  ['at the end @5511900000003.', 'at the end @33333.'],
  ['@5511900000003, @5511900000003!', '@33333, @33333!'],
  ['@+5511900000003', '@33333'],
  ['@+55 11 90000-0003', '@33333'],
  ['@+55 (11) 90000-0003 10 reais', '@33333 10 reais'],
  ['@5511900000003 5511900000001', '@33333 5511900000001'],
  ['inside a longer number @55119000000031', 'inside a longer number @55119000000031'],
  ['@4789211988 is not the number', '@4789211988 is not the number'],
  ['@554789211988 and @5547989211988', '@22222 and @22222'],
  ['not mentioned @5511900000001', 'not mentioned @5511900000001'],
  ['5511900000003 without a sign', '5511900000003 without a sign'],
  ['already @33333', 'already @33333'],
])('writes LIDs into "%s"', async (text, expected) => {
  const { rewrite } = await resolve(['5511900000003', '5547989211988']);
  expect(rewrite(text)).toBe(expected);
});

test('takes time in proportion to the text', async () => {
  const { rewrite } = await resolve(['5511900000003']);
  const text = '@+1 2 3 4 5 6 7 8 9 '.repeat(50_000);
  expect(rewrite(text)).toHaveLength(text.length);
});

const said = '@5511900000003';
const media = {};
test.each<[string, OutboundContent]>([
  ['a text', { type: 'text', text: { body: said } }],
  ['a caption', { type: 'image', image: { media, caption: said } }],
  ['the caption of a video', { type: 'video', video: { media, caption: said } }],
  ['the caption of a document', { type: 'document', document: { media, caption: said } }],
  ['a poll', { type: 'poll', poll: { name: said, options: [{ id: 'a', label: said }], selectable: 1 } }],
  ['a menu', { type: 'interactive', interactive: { body: said, footer: 'f', buttons: [] } }],
])('rewrites %s', (_, content) => {
  const rewritten = JSON.stringify(rewriteContent(content, (text) => text.replace(said, '@33333')));
  expect(rewritten).toContain('"@33333"');
});

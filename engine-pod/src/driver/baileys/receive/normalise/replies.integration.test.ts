import { createHash } from 'node:crypto';
import type { OutboundContent } from '@gwk/core/resources/message';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Reactions of recipients to our messages. */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const interactive = (format: 'native_flow' | 'legacy', isList: boolean): OutboundContent => ({
  type: 'interactive',
  interactive: {
    body: 'Which?',
    format,
    ...(isList
      ? { list: { button: 'Open', sections: [{ title: 'All', rows: [{ id: 'b', title: 'B' }] }] } }
      : { buttons: [{ type: 'reply' as const, label: 'B', id: 'b' }] }),
  },
});

const CHATS: [string, () => string][] = [
  ['of a contact', () => stage.ana.jid],
  ['of a contact addressed by LID', () => stage.ana.lidJid],
  ['of a group', () => group],
];

describe.each(CHATS)('in the chat %s', (_chat, chat) => {
  test.each([
    ['a native button', interactive('native_flow', false), 'native_flow'],
    ['a native list', interactive('native_flow', true), 'native_flow'],
    ['an older button', interactive('legacy', false), 'button'],
    ['an older list', interactive('legacy', true), 'list'],
  ])('a tap on %s names its option and its menu', async (_, content, source) => {
    const { number, ana } = stage;
    const { id } = await number.send(number.message(chat(), content));
    const tap = await ana.taps(await ana.receives({ id }), 'b');
    const reply = await number.gets(tap);
    expect(reply.click).toEqual({ option_id: 'b', label: 'B', source, in_reply_to_wa_message_id: id });
    expect(reply).toMatchObject({ type: 'interactive', text: 'B', quoted_wa_message_id: id });
    expect([reply.from, reply.alt]).toContain(ana.jid);
  });

  test('a vote, a changed vote and its withdrawal are decrypted', async () => {
    const { number, ana } = stage;
    const options = ['A', 'B', 'C'].map((label) => ({ id: label.toLowerCase(), label }));
    const poll: OutboundContent = { type: 'poll', poll: { name: 'Which?', options, selectable: 2 } };
    const { id } = await number.send(number.message(chat(), poll));
    const received = await ana.receives({ id });
    const votes = () => number.rows.inbound.filter(({ vote }) => vote?.poll_wa_message_id === id);
    for (const [count, labels] of [['B'], ['A', 'C'], []].entries()) {
      await ana.votes(received, labels);
      await until('a vote', () => votes().length === count + 1 || undefined);
    }
    expect(votes().map(({ vote }) => vote!.chosen)).toEqual([[hash('B')], [hash('A'), hash('C')], []]);
    expect(votes()[0]).toMatchObject({ type: 'poll', text: null, from_me: false });
  });

  test('a reply names the quoted message', async () => {
    const { number, ana } = stage;
    const { id } = await number.sendText(chat(), 'is it you?');
    const answer = await ana.replies(await ana.receives({ id }), 'it is');
    expect(await number.gets(answer)).toMatchObject({ text: 'it is', quoted_wa_message_id: id });
  });

  test('a reaction names the message', async () => {
    const { number, ana } = stage;
    const { id } = await number.sendText(chat(), 'nice?');
    await ana.receives({ id });
    const to = chat() === group ? { to: group } : { to: stage.phone.number };
    const reaction = await ana.reacts(id, '👍', to);
    expect((await number.gets(reaction)).change).toEqual({
      author: { from_me: true, participant: null },
      kind: 'reaction',
      wa_message_id: id,
      emoji: '👍',
    });
  });

  test('voice messages are played, texts are read', async () => {
    const { number, ana } = stage;
    const { id } = await number.sendText(chat(), 'listen');
    const received = await ana.receives({ id });
    const receipts = () => number.rows.receipts.filter(({ waMessageId }) => waMessageId === id);
    await until('delivery', () => receipts().some(({ status }) => status === 'delivered') || undefined);
    await ana.reads(received);
    await until('reading', () => receipts().some(({ status }) => status === 'read') || undefined);
    await ana.plays(received);
    await until('playing', () => receipts().some(({ played }) => played) || undefined);
  });
});

test('a vote in another poll is ignored', async () => {
  const { number, ana, phone } = stage;
  const pollUpdateMessage = {
    pollCreationMessageKey: { remoteJid: ana.jid, fromMe: true, id: '3EB0THEIRS' },
    vote: {
      encPayload: Buffer.alloc(40, 1).toString('base64'),
      encIv: Buffer.alloc(12, 1).toString('base64'),
    },
  };
  await ana.writes({ pollUpdateMessage }, { to: phone.number });
  await ana.writes('after it', { to: phone.number });
  await number.text('after it');
  expect(number.rows.inbound.filter(({ vote }) => vote?.poll_wa_message_id === '3EB0THEIRS')).toEqual([]);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

const hash = (label: string) => createHash('sha256').update(label).digest('hex');

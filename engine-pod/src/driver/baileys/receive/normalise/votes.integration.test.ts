import { createHash, randomBytes } from 'node:crypto';
import type { OutboundContent } from '@gwk/core/resources/message';
import {
  NEVER_ABORTED,
  numberStage,
  QR,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';
import { decodeBuiltMessage, encodeBuiltMessage } from '../../send/built-message.js';

/** Votes by all forms of the ids of creator and voter, and in polls of earlier engines. */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const options = ['A', 'B'].map((label) => ({ id: label, label }));
const POLL: OutboundContent = { type: 'poll', poll: { name: 'Which?', options, selectable: 1 } };
const hash = (label: string) => createHash('sha256').update(label).digest('hex');
const FORMS = ['lid', 'pn'] as const;
const CHATS = ['a direct chat', 'a group'] as const;
const chatOf = (kind: string): string => (kind === 'a group' ? group : stage.ana.jid);
const JUNK = {
  encPayload: Buffer.alloc(40, 1).toString('base64'),
  encIv: Buffer.alloc(12, 1).toString('base64'),
};
const voteIn = (id: string) =>
  until(`a vote in ${id}`, () =>
    stage.number.rows.inbound.find(({ vote }) => vote?.poll_wa_message_id === id),
  );

test.each(
  CHATS.flatMap((chat) =>
    FORMS.flatMap((creator) =>
      FORMS.flatMap((voter) => FORMS.map((addressing) => ({ chat, creator, voter, addressing }))),
    ),
  ),
)('in $chat, creator by $creator, voter by $voter, stanza by $addressing', async ({ chat, ...forms }) => {
  const { number, ana } = stage;
  const { id } = await number.send(number.message(chatOf(chat), POLL));
  await ana.votes(await ana.receives({ id }), ['B'], forms);
  expect((await voteIn(id)).vote!.chosen).toEqual([hash('B')]);
});

/** Sends a poll whose secret this engine cannot derive. */
async function sendForeignPoll(chat: string): Promise<{ id: string; secret: Buffer }> {
  const { number } = stage;
  const message = number.message(chat, POLL);
  const built = decodeBuiltMessage((await number.driver.build(message)).bytes);
  const secret = randomBytes(32);
  built.message.messageContextInfo = { messageSecret: secret };
  const bytes = encodeBuiltMessage(built);
  number.rows.built.set(message.wa_message_id, bytes);
  const { wa_message_id: waMessageId } = message;
  await number.driver.send({ waMessageId, chat, bytes, mayWrite: () => true, signal: NEVER_ABORTED });
  return { id: waMessageId, secret };
}

test.each(CHATS)('in a poll of an earlier engine in %s, while its content is stored', async (chat) => {
  const { ana } = stage;
  const { id } = await sendForeignPoll(chatOf(chat));
  await ana.votes(await ana.receives({ id }), ['A']);
  expect((await voteIn(id)).vote!.chosen).toEqual([hash('A')]);
});

test('in a poll of an earlier engine whose secret is stored', async () => {
  const { number, ana } = stage;
  const { id, secret } = await sendForeignPoll(ana.jid);
  number.rows.built.delete(id);
  number.rows.pollSecrets.set(id, secret);
  await ana.votes(await ana.receives({ id }), ['A']);
  expect((await voteIn(id)).vote!.chosen).toEqual([hash('A')]);
});

test('in a direct chat whose voter omits whose poll it is', async () => {
  const { number, ana } = stage;
  const pollUpdateMessage = { pollCreationMessageKey: { remoteJid: ana.jid, id: '3EB0OMITTED' }, vote: JUNK };
  await ana.writes({ pollUpdateMessage });
  await until('the poll is read', () => number.rows.pollsRead.includes('3EB0OMITTED') || undefined);
});

test('the vote of a member in the poll of another member is not looked up', async () => {
  const { number, ana } = stage;
  const pollUpdateMessage = {
    pollCreationMessageKey: { remoteJid: group, participant: ana.lidJid, fromMe: true, id: '3EB0THEIRS' },
    vote: JUNK,
  };
  await ana.writes({ pollUpdateMessage }, { to: group });
  await ana.writes('after it', { to: group });
  await number.text('after it');
  expect(number.rows.pollsRead).not.toContain('3EB0THEIRS');
});

test('after the device was linked again', async () => {
  const { number, ana, phone } = stage;
  const message = number.message(ana.jid, POLL);
  const { id, menu } = await number.send(message);
  const received = await ana.receives({ id });
  await number.driver.logout();
  number.rows.built.clear();
  number.rows.pollSecrets.set(id, Buffer.from(menu!.secret!, 'base64'));
  number.events.length = 0;
  number.connect(QR);
  await phone.scan((await number.happens('qr')).code);
  await number.happens('opened');
  await ana.votes(received, ['B']);
  expect((await voteIn(id)).vote!.chosen).toEqual([hash('B')]);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

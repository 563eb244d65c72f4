import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { toPublicId } from '@gwk/core/ids/ids';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';

/**
 * A sender chooses the ids of its messages. They are unique only together with chat and author, so a message that reuses the id
 * of another must not hide changes of the other.
 */
let stage: InboundStage;
let engine: TestEngine;
let ana: string;
let eve: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  [ana, eve] = [stage.someone(), stage.someone()];
});
afterAll(() => stage.close());

const receive = (...messages: InboundMessage[]) => stage.receive(engine, ...messages);
type Change = NonNullable<InboundMessage['change']>;
const change = (from: string, given: Change, more: Partial<InboundMessage> = {}): InboundMessage =>
  stage.text(from, '', { text: null, type: 'other', change: given, ...more });
const changes = async () =>
  (await stage.events(engine))
    .filter(({ type }) => ['message.edited', 'message.deleted', 'message.reaction'].includes(type))
    .map(({ type, data }) => [type.slice('message.'.length), data['message_id']]);
const publicId = (id: string) => toPublicId('message', id);
const inboundOf = async (from: string) =>
  (await stage.inbound(engine)).find(({ to, participant }) => (participant ?? to).startsWith(from))!;

describe('the id of a sent message, reused by the contact', () => {
  const setUp = async () => {
    const sent = await stage.sent(engine, ana);
    const id = sent.waMessageId!;
    await receive(stage.text(ana, 'mine', { wa_message_id: id }));
    return { sent, id, reused: await inboundOf(ana) };
  };

  test('the own phone edits and deletes the sent message', async () => {
    const { sent, id, reused } = await setUp();
    const own = { from_me: true };
    await receive(
      change(ana, { kind: 'edit', wa_message_id: id, text: 'novo' }, own),
      change(ana, { kind: 'delete', wa_message_id: id }, own),
    );
    expect(await changes()).toEqual([
      ['edited', publicId(sent.id)],
      ['deleted', publicId(sent.id)],
    ]);
    expect((await stage.message(sent.id)).deletedForAll).toBe(true);
    expect((await stage.message(reused.id)).deletedForAll).toBe(false);
  });

  test('the contact edits and deletes its own message alone', async () => {
    const { sent, id, reused } = await setUp();
    await receive(
      change(ana, { kind: 'edit', wa_message_id: id, text: 'novo' }),
      change(ana, { kind: 'delete', wa_message_id: id }),
    );
    expect(await changes()).toEqual([
      ['edited', publicId(reused.id)],
      ['deleted', publicId(reused.id)],
    ]);
    expect((await stage.message(sent.id)).deletedForAll).toBe(false);
  });

  test('a reaction names the message of the author that it states', async () => {
    const { sent, id, reused } = await setUp();
    const react = (from_me: boolean): Change => ({
      ...{ kind: 'reaction', wa_message_id: id, emoji: '👍' },
      author: { from_me, participant: null },
    });
    await receive(change(ana, react(true)), change(ana, react(false)));
    expect(await changes()).toEqual([
      ['reaction', publicId(sent.id)],
      ['reaction', publicId(reused.id)],
    ]);
  });
});

test('the id of a message that only the own phone knows, reused by the contact', async () => {
  const id = '3EB0DEVICE';
  await receive(stage.text(ana, 'mine', { wa_message_id: id }));
  const author = { from_me: true, participant: null };
  await receive(change(ana, { kind: 'delete', wa_message_id: id, author }, { from_me: true }));
  expect(await changes()).toEqual([['deleted', undefined]]);
  expect((await inboundOf(ana)).deletedForAll).toBe(false);
});

test('an older sent message is found behind a new one with its id', async () => {
  const sent = await stage.sent(engine, ana);
  const id = sent.waMessageId!;
  await receive(stage.text(ana, 'mine', { wa_message_id: id }));
  const click = { option_id: 'x', label: 'X', source: 'button' as const, in_reply_to_wa_message_id: id };
  await receive(stage.text(ana, 'X', { type: 'interactive', click }));
  const { data } = await stage.lastEvent(engine);
  expect(data['reply']).toMatchObject({ in_reply_to: publicId(sent.id) });
});

describe('in a group, the id of a member reused by another', () => {
  const group = '120363000000000099@g.us';
  const setUp = async () => {
    const text = stage.text(ana, 'oi', { chat: group });
    const id = text.wa_message_id;
    await receive(stage.text(eve, 'mine', { chat: group, wa_message_id: id }), text);
    return { id, anas: await inboundOf(ana), eves: await inboundOf(eve) };
  };

  test('each member edits and deletes its own message', async () => {
    const { id, anas, eves } = await setUp();
    for (const from of [ana, eve])
      await receive(
        change(from, { kind: 'edit', wa_message_id: id, text: 'novo' }, { chat: group }),
        change(from, { kind: 'delete', wa_message_id: id }, { chat: group }),
      );
    const [a, e] = [publicId(anas.id), publicId(eves.id)];
    expect(await changes()).toEqual([['edited', a], ['deleted', a], ['edited', e], ['deleted', e]]); // prettier-ignore
  });

  test('an admin deletes the message of the author that the deletion names', async () => {
    const { id, anas, eves } = await setUp();
    const author = { from_me: false, participant: jid(ana) };
    const deletion: Change = { kind: 'delete', wa_message_id: id, by_admin: true, author };
    await receive(change(stage.someone(), deletion, { chat: group }));
    expect(await changes()).toEqual([['deleted', publicId(anas.id)]]);
    expect((await stage.message(eves.id)).deletedForAll).toBe(false);
  });
});

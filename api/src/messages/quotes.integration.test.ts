import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import type { InboundMessage } from '@gwk/core/protocol/inbound';

/** Cards of quoted messages. */
let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const card = Buffer.from('thumbnail of a cat').toString('base64');
let people = 0;
const someone = () => `55119${String(35_000_000 + people++)}`;
const findCard = (messageId: string) =>
  internalApi.world.database.messageCard.findUnique({ where: { messageId } });

async function claimAnswer(to: string, id: string) {
  const extra = { reply_to: `msg_${id.replaceAll('-', '')}` };
  await internalApi.accept({ instance: engine.instanceId, to, extra });
  const [message] = await engine.claim();
  await engine.sent(message!.message_id);
  return message!.quoted;
}

async function send(to: string, by = engine): Promise<string> {
  const id = await internalApi.accept({ instance: engine.instanceId, to, text: 'Olá' });
  await engine.claim();
  await by
    .call('built', { messages: [{ message_id: id, built: 'YQ==', rendered_as: null, card }] })
    .catch(() => undefined);
  return id;
}

let arrivals = 0;
async function arrive(from: string, more: Partial<InboundMessage>): Promise<string> {
  const wa_message_id = `IN${engine.instanceId}${arrivals++}`;
  const chat = `${from}@s.whatsapp.net`;
  const at = new Date().toISOString();
  const names = { wa_message_id, chat, from: chat, from_name: null, from_me: false, at };
  const content = { type: 'other' as const, text: null, quoted_wa_message_id: null };
  await engine.call('inbound', { messages: [{ ...names, ...content, ...more }] });
  return wa_message_id;
}

async function receive(from: string): Promise<string> {
  const wa_message_id = await arrive(from, { type: 'image', text: 'Quanto é?', card });
  const row = await internalApi.world.database.message.findFirstOrThrow({
    where: { instanceId: engine.instanceId, waMessageId: wa_message_id },
  });
  return row.id;
}

test('a sent message keeps its card when its content is deleted', async () => {
  const to = someone();
  const id = await send(to);
  await engine.sent(id);
  expect(await claimAnswer(to, id)).toMatchObject({ text: 'Olá', card });
  await internalApi.world.database.messageContent.delete({ where: { messageId: id } });
  expect(await claimAnswer(to, id)).toMatchObject({ text: '', card });
});

test('a received message is quoted with its card and its text', async () => {
  const from = someone();
  const id = await receive(from);
  expect(await claimAnswer(from, id)).toMatchObject({ type: 'image', text: 'Quanto é?', card });
});

describe('an edited message is quoted as it is now:', () => {
  const edited = Buffer.from('thumbnail of a dog').toString('base64');
  const edit = async (from: string, id: string, more: Partial<InboundMessage> & { card?: string } = {}) => {
    const { waMessageId } = await internalApi.world.database.message.findUniqueOrThrow({ where: { id } });
    const { card: newCard, text, ...rest } = more;
    const change = {
      ...{ kind: 'edit' as const, wa_message_id: waMessageId!, text: text ?? 'Quanto são?' },
      ...(newCard !== undefined && { card: newCard }),
    };
    await arrive(from, { change, ...rest });
  };

  test('the text of a received message', async () => {
    const from = someone();
    const id = await receive(from);
    await edit(from, id, { text: 'Quanto?' });
    await edit(from, id);
    expect(await claimAnswer(from, id)).toMatchObject({ type: 'image', text: 'Quanto são?', card });
  });

  test('an older edit that is written later changes nothing', async () => {
    const from = someone();
    const id = await receive(from);
    const editEventId = 'ffffffff-ffff-7fff-8fff-ffffffffffff';
    await internalApi.world.database.message.updateMany({ where: { id }, data: { editEventId } });
    await edit(from, id, { card: edited });
    expect(await claimAnswer(from, id)).toMatchObject({ card });
    expect(await internalApi.world.database.message.findFirst({ where: { id } })).toMatchObject({
      editEventId,
    });
  });

  test('the card of a received message', async () => {
    const from = someone();
    const id = await receive(from);
    await edit(from, id, { card: edited });
    expect(await claimAnswer(from, id)).toMatchObject({ text: 'Quanto são?', card: edited });
  });

  test('a sent message that its own phone edited, also after its content was deleted', async () => {
    const to = someone();
    const id = await send(to);
    await engine.sent(id);
    await edit(to, id, { from_me: true, text: 'Olá, Ana', card: edited });
    expect(await claimAnswer(to, id)).toMatchObject({ text: 'Olá, Ana', card: edited });
    await internalApi.world.database.messageContent.delete({ where: { messageId: id } });
    expect(await claimAnswer(to, id)).toMatchObject({ text: 'Olá, Ana' });
  });

  test('not by an edit of somebody else', async () => {
    const from = someone();
    const id = await receive(from);
    await edit(someone(), id, { card: edited });
    await edit(from, id, { from_me: true, card: edited });
    expect(await claimAnswer(from, id)).toMatchObject({ text: 'Quanto é?', card });
  });

  test('a deleted message without text and card', async () => {
    const from = someone();
    const id = await receive(from);
    await edit(from, id, { card: edited });
    await internalApi.world.database.message.updateMany({ where: { id }, data: { deletedForAll: true } });
    expect(await claimAnswer(from, id)).toMatchObject({ text: '' });
  });
});

test('cards are stored encrypted', async () => {
  for (const id of [await send(someone()), await receive(someone())]) {
    const { cardSealed } = (await findCard(id))!;
    expect(Buffer.from(cardSealed).includes('thumbnail')).toBe(false);
  }
});

test('a message that was deleted for everyone is quoted without text and card', async () => {
  const from = someone();
  const id = await receive(from);
  await internalApi.world.database.message.updateMany({ where: { id }, data: { deletedForAll: true } });
  const quoted = await claimAnswer(from, id);
  expect(quoted).toMatchObject({ type: 'image', text: '' });
  expect(quoted).not.toHaveProperty('card');
});

test('an engine stores no card for a message of another instance', async () => {
  const other = await (await internalApi.addEngine()).acquire();
  expect(await findCard(await send(someone(), other))).toBeNull();
});

test('a card that cannot be decrypted does not block the reply', async () => {
  const from = someone();
  const id = await receive(from);
  const cardSealed = new Uint8Array(40);
  await internalApi.world.database.messageCard.update({ where: { messageId: id }, data: { cardSealed } });
  expect(await claimAnswer(from, id)).toMatchObject({ text: 'Quanto é?' });
});

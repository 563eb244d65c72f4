import { decodeNotified } from '@gwk/core/protocol/notified-messages';
import { createWorld, people, toUuid, type Send, type World } from '@gwk/test/support/api/acceptance';
import { until } from '@gwk/test/support/wait';
import { newCommandKey, openCommandKey } from '../../engine-commands/commands.js';
import type { SendNotification, SendNotifier } from '../send-notifier.js';
import { Acceptor } from './acceptor.js';

let world: World;
let acceptor: Acceptor;
let instance: string;
let key: Buffer;
const notifications: SendNotification[] = [];
beforeAll(async () => {
  world = await createWorld();
  const notifier = { notify: async (all: SendNotification[]) => void notifications.push(...all) };
  acceptor = new Acceptor({
    database: world.database,
    sealer: world.sealer,
    sendNotifier: notifier as unknown as SendNotifier,
    environmentPolicy: {},
  });
});
afterAll(() => world.close());
beforeEach(async () => {
  instance = await world.addInstance();
  const commandKeySealed = new Uint8Array(newCommandKey(world.sealer, instance));
  await world.database.instance.update({ where: { id: instance }, data: { commandKeySealed } });
  key = openCommandKey(world.sealer, instance, commandKeySealed);
});

const [somebody, anotherOne, third] = people(3) as [string, string, string];

/** Sends each message, all at once, and returns their notifications with what the engine reads in them. */
async function send(...sends: Send[]) {
  notifications.length = 0;
  const sent = await Promise.all(
    sends.map((one) => world.send(acceptor, { instance, to: somebody, ...one })),
  );
  const read = notifications.map(({ messageId, messages: encrypt }) => {
    const messages = encrypt?.();
    return messages ? decodeNotified(messages, messageId, { key, now: Date.now() }) : null;
  });
  return { ids: sent.map(({ message }) => toUuid(message.id)), read };
}

/** The first notification of a process for an instance makes it read the key. */
const untilKeyIsRead = () =>
  until(async () => (await send({ to: third })).read[0] !== null, {
    what: 'the command key is read',
    everyMs: 10,
  });

test('a text is in the notification of its engine, encrypted', async () => {
  expect((await send({})).read).toEqual([null]);
  await untilKeyIsRead();
  const { ids, read } = await send({ to: '551188887777', text: 'Segredo' });
  const [id] = ids as [string];
  expect(notifications[0]!.messages!()).not.toContain('Segredo');
  const { conversationId } = await world.database.outboxEntry.findUniqueOrThrow({ where: { messageId: id } });
  const { waMessageId } = await world.database.message.findUniqueOrThrow({ where: { id } });
  expect(read).toEqual([
    [
      {
        message_id: id,
        conversation_id: conversationId,
        chat: '551188887777@s.whatsapp.net',
        wa_message_id: waMessageId,
        type: 'text',
        content: '{"type":"text","text":{"body":"Segredo"}}',
      },
    ],
  ]);
});

test('texts to several people share a notification, and those of one conversation are claimed', async () => {
  await untilKeyIsRead();
  // Until the facts of both are known, they may be accepted in two batches.
  const together = async (...to: string[]) => {
    for (;;) {
      const sent = await send(...to.map((one) => ({ to: one })));
      if (sent.read.length === 1) return sent;
    }
  };
  const { ids, read } = await together(somebody, anotherOne);
  expect(read[0]?.map(({ message_id }) => message_id).sort()).toEqual(ids.sort());
  expect((await together(somebody, somebody)).read).toEqual([null]);
});

test.each([
  ['of another type', { type: 'location', location: { latitude: 1, longitude: 2 }, text: undefined }],
  ['with a link preview', { text: { body: 'https://example.com', preview_url: true } }],
  ['that is long', { text: { body: 'x'.repeat(2_000) } }],
])('a message %s is left to a claim', async (_, extra) => {
  await untilKeyIsRead();
  expect((await send({ extra })).read).toEqual([null]);
});

test('a reply is left to a claim', async () => {
  await untilKeyIsRead();
  const { ids } = await send({});
  await world.database.message.update({ where: { id: ids[0]! }, data: { status: 'sent' } });
  const reply_to = `msg_${ids[0]!.replaceAll('-', '')}`;
  expect((await send({ extra: { reply_to } })).read).toEqual([null]);
});

test('a message whose instance has no readable key is left to a claim', async () => {
  await world.database.instance.update({
    where: { id: instance },
    data: { commandKeySealed: new Uint8Array(40) },
  });
  for (let time = 0; time < 3; time++) expect((await send({})).read).toEqual([null]);
});

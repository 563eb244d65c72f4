import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { readRefusal, type TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';

let stage: InboundStage;
let engine: TestEngine;
let ana: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  ana = stage.someone();
});
afterAll(() => stage.close());

const receive = (...messages: InboundMessage[]) => stage.receive(engine, ...messages);
const receiveText = (text: string, given: Partial<InboundMessage> = {}) =>
  receive(stage.text(ana, text, given));
const accept = (to = ana, instance = engine.instanceId) => stage.internalApi.accept({ instance, to });
const optOuts = (phone = ana) =>
  stage.database.optOut.findMany({
    where: { accountId: stage.internalApi.world.accountId, contact: { names: { some: { name: phone } } } },
  });
const setPolicy = (policy: object) =>
  stage.database.instance.update({ where: { id: engine.instanceId }, data: { policy } });

test('SAIR opts out, stores the message, and fails all queued messages in the same transaction', async () => {
  const other = await stage.engine();
  await receive(stage.text(ana, 'oi', { from_name: 'Ana' }));
  const queued = [await accept(), await accept(), await accept(ana, other.instanceId)];
  const claimed = await accept(ana, other.instanceId);
  const scheduled = await accept();
  await stage.database.outboxEntry.update({
    where: { messageId: scheduled },
    data: { state: 'scheduled', seq: null, head: false, releaseAt: new Date(Date.now() + 3_600_000) },
  });
  const attempted = await accept(stage.someone());
  const given = stage.text(ana, ' Sair! ', { from_name: 'Ana' });
  await receive(given);

  const row = (await stage.inbound(engine)).at(-1)!;
  expect(row.waMessageId).toBe(given.wa_message_id);
  expect(await optOuts()).toEqual([
    expect.objectContaining({
      phone: ana,
      source: 'keyword',
      keyword: 'Sair!',
      instanceId: engine.instanceId,
    }),
  ]);
  for (const id of [...queued, claimed, scheduled]) {
    expect(await stage.message(id)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
    expect(await stage.database.outboxEntry.count({ where: { messageId: id } })).toBe(0);
  }
  expect((await stage.message(attempted)).status).toBe('queued');

  const events = await stage.events(engine);
  expect(events.map(({ type }) => type).sort()).toEqual(
    [
      ...['message.received', 'message.received', 'contact.opted_out'],
      ...['message.failed', 'message.failed', 'message.failed'],
    ].sort(),
  );
  const { data } = events.find(({ type }) => type === 'contact.opted_out')!;
  expect(data).toEqual({
    instance_id: `ins_${engine.instanceId.replaceAll('-', '')}`,
    message_id: `msg_${row.id.replaceAll('-', '')}`,
    contact: { id: jid(ana), phone: ana, username: null, name: 'Ana' },
    keyword: 'Sair!',
    timestamp: given.at,
  });
  const failed = await stage.events(other, 'message.failed');
  expect(failed.map(({ data: { error } }) => error)).toEqual([
    { code: 'opted_out', message: 'The contact has opted out of messages.' },
    { code: 'opted_out', message: 'The contact has opted out of messages.' },
  ]);
  await expect(accept()).rejects.toMatchObject({ code: 'contact-opted-out' });
});

test('fails messages that are claimed but not attempted, and leaves attempted ones', async () => {
  const [first, second] = [await accept(), await accept()];
  await engine.claim();
  await engine.build(first);
  const bia = stage.someone();
  const unattempted = await accept(bia);
  await engine.claim();
  await receiveText('SAIR');
  await receive(stage.text(bia, 'SAIR'));
  expect((await stage.message(first)).status).toBe('sending');
  expect(await stage.message(second)).toMatchObject({ errorCode: 'opted_out' });
  expect(await stage.message(unattempted)).toMatchObject({ errorCode: 'opted_out' });
  // The engine is informed before it sends the first stanza.
  expect(await engine.build(unattempted)).toEqual([]);
  await engine.sent(first);
  expect((await stage.message(first)).status).toBe('sent');
});

test('VOLTAR removes an opt-out, also one made by API; without one it is an ordinary message', async () => {
  await receiveText('VOLTAR');
  expect(await stage.types(engine)).toEqual(['message.received']);
  await receiveText('SAIR');
  await receiveText('voltar.');
  expect(await optOuts()).toEqual([]);
  const [optedIn] = await stage.events(engine, 'contact.opted_in');
  expect(optedIn!.data).toMatchObject({ contact: { phone: ana }, keyword: 'voltar.' });
  await accept();

  const { contactId } = await stage.database.contactName.findFirstOrThrow({
    where: { accountId: stage.internalApi.world.accountId, name: ana },
  });
  const instance = await stage.database.instance.findUniqueOrThrow({ where: { id: engine.instanceId } });
  await stage.database.optOut.create({
    data: { id: crypto.randomUUID(), contactId, accountId: instance.accountId, source: 'api' },
  });
  await receiveText('START');
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_in')).toHaveLength(2);
});

test('a stranger whose first message is SAIR is an opted-out contact', async () => {
  await receiveText('SAIR');
  expect(await optOuts()).toHaveLength(1);
  expect((await stage.types(engine)).sort()).toEqual(['contact.opted_out', 'message.received']);
});

test('a second SAIR emits an event and keeps the first opt-out', async () => {
  await receiveText('SAIR');
  const [first] = await optOuts();
  await receiveText('parar');
  expect(await optOuts()).toEqual([first]);
  expect(await stage.events(engine, 'contact.opted_out')).toHaveLength(2);
});

test('an old SAIR delivered again does not undo VOLTAR', async () => {
  const old = stage.text(ana, 'SAIR');
  await receive(old);
  await receiveText('VOLTAR');
  await receive(old);
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_out')).toHaveLength(1);
});

test('applies keywords of one batch in order', async () => {
  await receive(stage.text(ana, 'SAIR'), stage.text(ana, 'oi'), stage.text(ana, 'VOLTAR'));
  expect(await optOuts()).toEqual([]);
  await receive(stage.text(ana, 'VOLTAR'), stage.text(ana, 'SAIR'));
  expect(await optOuts()).toHaveLength(1);
});

test.each<[string, string, Partial<InboundMessage>]>([
  ['a keyword among other words', 'quero sair', {}],
  ['a caption', 'SAIR', { type: 'image' }],
  ['a message of the instance itself', 'SAIR', { from_me: true }],
  ['a keyword in a group', 'SAIR', { chat: '120363000000000099@g.us' }],
  [
    'a click',
    'SAIR',
    {
      type: 'interactive',
      click: { option_id: 'x', label: 'SAIR', source: 'button', in_reply_to_wa_message_id: null },
    },
  ],
])('does not opt out by %s', async (_, text, given) => {
  await receiveText(text, given);
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_out')).toEqual([]);
});

test('uses the keywords of the current policy', async () => {
  await setPolicy({ opt_out: { keywords: ['chega'], resume_keywords: ['volta aí'] } });
  await receiveText('SAIR');
  expect(await optOuts()).toEqual([]);
  await receiveText('Chega.');
  expect(await optOuts()).toHaveLength(1);
  await receiveText('VOLTA AI');
  expect(await optOuts()).toEqual([]);
});

test('`enabled: false` stops recognition, but still refuses sends', async () => {
  await receiveText('SAIR');
  await setPolicy({ opt_out: { enabled: false } });
  await expect(accept()).rejects.toMatchObject({ code: 'contact-opted-out' });
  await receiveText('VOLTAR');
  expect(await optOuts()).toHaveLength(1);
  const bia = stage.someone();
  await receive(stage.text(bia, 'SAIR'));
  expect(await optOuts(bia)).toEqual([]);
});

test('a typed menu option that is an opt-out keyword opts out and emits the reply too', async () => {
  const options = [{ id: 'leave', label: 'Sair', number: 1 }];
  await stage.menu(engine, ana, { options });
  await receiveText('sair');
  const types = (await stage.types(engine)).filter((type) => type !== 'message.sent');
  expect(types.sort()).toEqual(['contact.opted_out', 'message.interactive_reply']);
  expect(await optOuts()).toHaveLength(1);
});

test('SAIR from a number without the ninth digit also stops sends with it', async () => {
  const without = `${ana.slice(0, 4)}${ana.slice(5)}`;
  await receive(stage.text(without, 'SAIR'));
  await expect(accept(ana)).rejects.toMatchObject({ code: 'contact-opted-out' });
  await expect(accept(without)).rejects.toMatchObject({ code: 'contact-opted-out' });
});

test('a fenced engine opts no contact out', async () => {
  const { lease } = engine;
  engine.lease = { ...lease, epoch: lease.epoch + 1 };
  expect(await readRefusal(receiveText('SAIR'))).toBe('fenced');
  expect(await optOuts()).toEqual([]);
  expect(await stage.types(engine)).toEqual([]);
});

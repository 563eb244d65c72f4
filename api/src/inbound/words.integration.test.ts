import type { InboundMessage } from '@gwk/core/protocol/engine';
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
const say = (text: string, given: Partial<InboundMessage> = {}) => receive(stage.text(ana, text, given));
const accept = (to = ana, instance = engine.instanceId) => stage.port.accept({ instance, to });
const optOuts = (phone = ana) =>
  stage.database.optOut.findMany({
    where: { accountId: stage.port.world.accountId, contact: { names: { some: { name: phone } } } },
  });
const setPolicy = (policy: object) =>
  stage.database.instance.update({ where: { id: engine.instanceId }, data: { policy } });

test('SAIR opts out: the message comes in as well, and all that waits fails in the same moment', async () => {
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
    contact: { id: jid(ana), phone: ana, name: 'Ana' },
    keyword: 'Sair!',
    timestamp: given.at,
  });
  const failed = await stage.events(other, 'message.failed');
  expect(failed.map(({ data: { error } }) => error)).toEqual([
    { code: 'opted_out', message: null },
    { code: 'opted_out', message: null },
  ]);
  await expect(accept()).rejects.toMatchObject({ code: 'contact-opted-out' });
});

test('what an engine has claimed and not attempted fails; what it has attempted goes its way', async () => {
  const [first, second] = [await accept(), await accept()];
  await engine.claim();
  await engine.build(first);
  const bia = stage.someone();
  const unattempted = await accept(bia);
  await engine.claim();
  await say('SAIR');
  await receive(stage.text(bia, 'SAIR'));
  expect((await stage.message(first)).status).toBe('sending');
  expect(await stage.message(second)).toMatchObject({ errorCode: 'opted_out' });
  expect(await stage.message(unattempted)).toMatchObject({ errorCode: 'opted_out' });
  // The engine learns it before the first stanza.
  expect(await engine.build(unattempted)).toEqual([]);
  await engine.sent(first);
  expect((await stage.message(first)).status).toBe('sent');
});

test('VOLTAR frees, also an opt-out made by API; without one it is an ordinary word', async () => {
  await say('VOLTAR');
  expect(await stage.types(engine)).toEqual(['message.received']);
  await say('SAIR');
  await say('voltar.');
  expect(await optOuts()).toEqual([]);
  const [freed] = await stage.events(engine, 'contact.opted_in');
  expect(freed!.data).toMatchObject({ contact: { phone: ana }, keyword: 'voltar.' });
  await accept();

  const { contactId } = await stage.database.contactName.findFirstOrThrow({
    where: { accountId: stage.port.world.accountId, name: ana },
  });
  const instance = await stage.database.instance.findUniqueOrThrow({ where: { id: engine.instanceId } });
  await stage.database.optOut.create({
    data: { id: crypto.randomUUID(), contactId, accountId: instance.accountId, source: 'api' },
  });
  await say('START');
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_in')).toHaveLength(2);
});

test('a stranger whose first word is SAIR is a contact who opted out', async () => {
  await say('SAIR');
  expect(await optOuts()).toHaveLength(1);
  expect((await stage.types(engine)).sort()).toEqual(['contact.opted_out', 'message.received']);
});

test('a second SAIR is told again and leaves the first opt-out as it was', async () => {
  await say('SAIR');
  const [first] = await optOuts();
  await say('parar');
  expect(await optOuts()).toEqual([first]);
  expect(await stage.events(engine, 'contact.opted_out')).toHaveLength(2);
});

test('an old SAIR that is delivered a second time undoes no VOLTAR', async () => {
  const old = stage.text(ana, 'SAIR');
  await receive(old);
  await say('VOLTAR');
  await receive(old);
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_out')).toHaveLength(1);
});

test('words in one delivery count in their order', async () => {
  await receive(stage.text(ana, 'SAIR'), stage.text(ana, 'oi'), stage.text(ana, 'VOLTAR'));
  expect(await optOuts()).toEqual([]);
  await receive(stage.text(ana, 'VOLTAR'), stage.text(ana, 'SAIR'));
  expect(await optOuts()).toHaveLength(1);
});

test.each<[string, string, Partial<InboundMessage>]>([
  ['a word among others', 'quero sair', {}],
  ['a caption', 'SAIR', { type: 'image' }],
  ['what the number itself wrote', 'SAIR', { from_me: true }],
  ['a word in a group', 'SAIR', { chat: '120363000000000099@g.us' }],
  [
    'a click',
    'SAIR',
    {
      type: 'interactive',
      click: { option_id: 'x', label: 'SAIR', source: 'button', in_reply_to_wa_message_id: null },
    },
  ],
])('%s is no opt-out', async (_, text, given) => {
  await say(text, given);
  expect(await optOuts()).toEqual([]);
  expect(await stage.events(engine, 'contact.opted_out')).toEqual([]);
});

test('the words are those of the policy in force', async () => {
  await setPolicy({ opt_out: { keywords: ['chega'], resume_keywords: ['volta aí'] } });
  await say('SAIR');
  expect(await optOuts()).toEqual([]);
  await say('Chega.');
  expect(await optOuts()).toHaveLength(1);
  await say('VOLTA AI');
  expect(await optOuts()).toEqual([]);
});

test('`enabled: false` stops recognition, not refusals', async () => {
  await say('SAIR');
  await setPolicy({ opt_out: { enabled: false } });
  await expect(accept()).rejects.toMatchObject({ code: 'contact-opted-out' });
  await say('VOLTAR');
  expect(await optOuts()).toHaveLength(1);
  const bia = stage.someone();
  await receive(stage.text(bia, 'SAIR'));
  expect(await optOuts(bia)).toEqual([]);
});

test('an option with an opt-out word, typed: the opt-out wins and the reply is sent too', async () => {
  const options = [{ id: 'leave', label: 'Sair', number: 1 }];
  await stage.menu(engine, ana, { options });
  await say('sair');
  const types = (await stage.types(engine)).filter((type) => type !== 'message.sent');
  expect(types.sort()).toEqual(['contact.opted_out', 'message.interactive_reply']);
  expect(await optOuts()).toHaveLength(1);
});

test('forms of one phone are one contact: SAIR without the ninth digit stops sends with it', async () => {
  const without = `${ana.slice(0, 4)}${ana.slice(5)}`;
  await receive(stage.text(without, 'SAIR'));
  await expect(accept(ana)).rejects.toMatchObject({ code: 'contact-opted-out' });
  await expect(accept(without)).rejects.toMatchObject({ code: 'contact-opted-out' });
});

test('a fenced engine opts nobody out', async () => {
  const { lease } = engine;
  engine.lease = { ...lease, epoch: lease.epoch + 1 };
  expect(await readRefusal(say('SAIR'))).toBe('fenced');
  expect(await optOuts()).toEqual([]);
  expect(await stage.types(engine)).toEqual([]);
});

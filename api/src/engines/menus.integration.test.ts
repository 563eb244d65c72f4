import type { SentMenu } from '@gwk/core/protocol/engine';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { openMenu } from '../messages/content.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const options = [
  { id: 'yes', label: 'Sim', number: 1 },
  { id: 'no', label: 'Não', number: 2 },
];
const interactive: SentMenu = { kind: 'interactive', mode: 'text', options, selectable: null };
const poll: SentMenu = {
  kind: 'poll',
  mode: 'native',
  options: options.map(({ id, label }) => ({ id, label, number: null })),
  selectable: 2,
};
let people = 0;
const someone = () => `55119${String(30_000_000 + people++)}`;
const findMenu = (messageId: string) => internalApi.world.database.menu.findUnique({ where: { messageId } });

/** Accepts, claims and builds a message as this menu. */
async function buildMenu(menu: SentMenu, by = engine): Promise<string> {
  const id = await internalApi.accept({ instance: by.instanceId, to: someone() });
  await by.claim();
  await by.call('built', {
    messages: [{ message_id: id, built: 'YQ==', rendered_as: 'text_menu', menu }],
  });
  return id;
}
const reportFailed = (id: string, code: 'wa_error' | 'timeout', by = engine) =>
  by.report({ kind: 'failed', message_id: id, at: new Date().toISOString(), error: { code, message: null } });

describe('a menu', () => {
  test('is stored encrypted when built, and becomes valid once sent', async () => {
    const id = await buildMenu(interactive);
    const row = (await findMenu(id))!;
    expect(row).toMatchObject({ kind: 'interactive', mode: 'text', sentAt: null, answeredAt: null });
    expect(Buffer.from(row.optionsSealed).includes('Sim')).toBe(false);
    expect(openMenu(internalApi.world.sealer, engine.instanceId, row.optionsSealed)).toEqual({
      options,
      selectable: null,
    });
    await engine.sent(id);
    const message = await internalApi.world.database.message.findUniqueOrThrow({ where: { id } });
    const sent = (await findMenu(id))!;
    expect([sent.sentAt, sent.waMessageId]).toEqual([message.sentAt, message.waMessageId]);
    expect(message.renderedAs).toBe('text_menu');
  });

  test('keeps its first build', async () => {
    const id = await buildMenu(interactive);
    await engine.call('built', {
      messages: [{ message_id: id, built: 'YQ==', rendered_as: null, menu: poll }],
    });
    expect((await findMenu(id))!.kind).toBe('interactive');
  });

  test('is deleted if the send failed, and kept if the send is unconfirmed', async () => {
    const refused = await buildMenu(interactive);
    await reportFailed(refused, 'wa_error');
    expect(await findMenu(refused)).toBeNull();
    const unconfirmed = await buildMenu(interactive);
    await reportFailed(unconfirmed, 'timeout');
    expect((await findMenu(unconfirmed))!.sentAt).toBeNull();
    await engine.sent(unconfirmed);
    expect((await findMenu(unconfirmed))!.sentAt).not.toBeNull();
  });

  test('of a fenced engine is not stored', async () => {
    const id = await internalApi.accept({ instance: engine.instanceId, to: someone() });
    await engine.claim();
    const old = engine.lease;
    engine.lease = { ...old, epoch: old.epoch + 1 };
    const call = engine.call('built', {
      messages: [{ message_id: id, built: 'YQ==', rendered_as: null, menu: interactive }],
    });
    await expect(call).rejects.toThrow();
    expect(await findMenu(id)).toBeNull();
  });

  test.each<[string, SentMenu, Record<string, unknown>, number]>([
    ['one day by default', interactive, {}, DAY],
    ['for the menu_ttl_hours of the instance', interactive, { menu_ttl_hours: 2 }, 2 * HOUR],
    ['ninety days for a poll, whose votes name options by hash', poll, { menu_ttl_hours: 2 }, 90 * DAY],
  ])('is kept %s, and one more hour for an unconfirmed send', async (_, menu, policy, lasts) => {
    const other = await (await internalApi.addEngine({ policy })).acquire();
    const begun = Date.now();
    const { deleteAt } = (await findMenu(await buildMenu(menu, other)))!;
    const until = deleteAt.getTime() - HOUR - lasts;
    expect(until).toBeGreaterThanOrEqual(begun);
    expect(until).toBeLessThanOrEqual(Date.now());
  });
});

describe('a quoted message', () => {
  const claimQuoted = async (by = engine) => (await by.claim()).map((message) => message.quoted);
  const answer = (id: string, to: string) =>
    internalApi.accept({
      instance: engine.instanceId,
      to,
      extra: { reply_to: `msg_${id.replaceAll('-', '')}` },
    });
  async function sendText(text: string, to: string): Promise<string> {
    const id = await internalApi.accept({ instance: engine.instanceId, to, text });
    await engine.claim();
    await engine.build(id);
    await engine.sent(id);
    return id;
  }
  const findWaId = async (id: string) =>
    (await internalApi.world.database.message.findUniqueOrThrow({ where: { id } })).waMessageId;

  test('of ours has its text while its content is stored, and an empty one afterwards', async () => {
    const to = someone();
    const first = await sendText('Olá', to);
    const reply = await answer(first, to);
    const reference = { wa_message_id: await findWaId(first), chat: `${to}@s.whatsapp.net`, from_me: true };
    expect(await claimQuoted()).toEqual([{ ...reference, participant: null, type: 'text', text: 'Olá' }]);
    await engine.sent(reply);
    await internalApi.world.database.messageContent.delete({ where: { messageId: first } });
    await answer(first, to);
    expect(await claimQuoted()).toMatchObject([{ ...reference, text: '' }]);
  });

  test.each([
    ['a contact', `551191234567@s.whatsapp.net`, '551191234567@s.whatsapp.net'],
    ['a member of a group', '120363012345678901@g.us', '5511987650000@s.whatsapp.net'],
  ])('from %s is read from its event', async (_, chat, participant) => {
    const from = participant;
    for (const [n, text] of ['antes', 'Quanto é?', 'depois'].entries()) {
      await engine.call('inbound', {
        messages: [
          {
            wa_message_id: `IN${engine.instanceId}${n}`,
            chat,
            from,
            from_name: null,
            from_me: false,
            at: new Date().toISOString(),
            type: 'text',
            text,
            quoted_wa_message_id: null,
          },
        ],
      });
    }
    const row = await internalApi.world.database.message.findFirstOrThrow({
      where: { instanceId: engine.instanceId, waMessageId: `IN${engine.instanceId}1` },
    });
    await answer(row.id, chat);
    expect(await claimQuoted()).toEqual([
      {
        wa_message_id: row.waMessageId,
        chat: expect.stringContaining('@') as string,
        from_me: false,
        participant,
        type: 'text',
        text: 'Quanto é?',
      },
    ]);
  });

  test('is read only for a message with reply_to', async () => {
    await internalApi.accept({ instance: engine.instanceId, to: someone(), text: '"reply_to"' });
    expect(await claimQuoted()).toEqual([null]);
  });
});

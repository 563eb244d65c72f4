import type { SentMenu } from '@gwk/core/menus/sent-menu';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { openMenu } from '../messages/content.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let port: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  port = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await port.addEngine()).acquire();
});
afterAll(() => port.close());

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
const menuOf = (messageId: string) => port.world.database.menu.findUnique({ where: { messageId } });

/** Claimed, and built as this menu. */
async function built(menu: SentMenu, by = engine): Promise<string> {
  const id = await port.accept({ instance: by.instanceId, to: someone() });
  await by.claim();
  await by.call('built', {
    messages: [{ message_id: id, built: 'YQ==', rendered_as: 'text_menu', menu }],
  });
  return id;
}
const failed = (id: string, code: 'wa_error' | 'timeout', by = engine) =>
  by.report({ kind: 'failed', message_id: id, at: new Date().toISOString(), error: { code, message: null } });

describe('a menu', () => {
  test('is kept sealed with what was built, and counts once it has left', async () => {
    const id = await built(interactive);
    const row = (await menuOf(id))!;
    expect(row).toMatchObject({ kind: 'interactive', mode: 'text', sentAt: null, answeredAt: null });
    expect(Buffer.from(row.optionsSealed).includes('Sim')).toBe(false);
    expect(openMenu(port.world.sealer, engine.instanceId, row.optionsSealed)).toEqual({
      options,
      selectable: null,
    });
    await engine.sent(id);
    const message = await port.world.database.message.findUniqueOrThrow({ where: { id } });
    const left = (await menuOf(id))!;
    expect([left.sentAt, left.waMessageId]).toEqual([message.sentAt, message.waMessageId]);
    expect(message.renderedAs).toBe('text_menu');
  });

  test('that is built again stays as it was built first', async () => {
    const id = await built(interactive);
    await engine.call('built', {
      messages: [{ message_id: id, built: 'YQ==', rendered_as: null, menu: poll }],
    });
    expect((await menuOf(id))!.kind).toBe('interactive');
  });

  test('that did not leave is nobody’s, unless it may still turn out to have left', async () => {
    const refused = await built(interactive);
    await failed(refused, 'wa_error');
    expect(await menuOf(refused)).toBeNull();
    const doubtful = await built(interactive);
    await failed(doubtful, 'timeout');
    expect((await menuOf(doubtful))!.sentAt).toBeNull();
    await engine.sent(doubtful);
    expect((await menuOf(doubtful))!.sentAt).not.toBeNull();
  });

  test('of an engine that is fenced is not kept', async () => {
    const id = await port.accept({ instance: engine.instanceId, to: someone() });
    await engine.claim();
    const old = engine.lease;
    engine.lease = { ...old, epoch: old.epoch + 1 };
    const call = engine.call('built', {
      messages: [{ message_id: id, built: 'YQ==', rendered_as: null, menu: interactive }],
    });
    await expect(call).rejects.toThrow();
    expect(await menuOf(id)).toBeNull();
  });

  test.each<[string, SentMenu, Record<string, unknown>, number]>([
    ['a day by default', interactive, {}, DAY],
    ['as long as the policy of the instance says', interactive, { menu_ttl_hours: 2 }, 2 * HOUR],
    ['ninety days of a poll, whose votes name options by hash', poll, { menu_ttl_hours: 2 }, 90 * DAY],
  ])('is kept %s, and the hour of its doubt', async (_, menu, policy, lasts) => {
    const other = await (await port.addEngine({ policy })).acquire();
    const begun = Date.now();
    const { deleteAt } = (await menuOf(await built(menu, other)))!;
    const until = deleteAt.getTime() - HOUR - lasts;
    expect(until).toBeGreaterThanOrEqual(begun);
    expect(until).toBeLessThanOrEqual(Date.now());
  });
});

describe('a quote', () => {
  const quoted = async (by = engine) => (await by.claim()).map((message) => message.quoted);
  const answer = (id: string, to = someone()) =>
    port.accept({
      instance: engine.instanceId,
      to,
      extra: { reply_to: `msg_${id.replaceAll('-', '')}` },
    });
  async function leave(text: string, to: string): Promise<string> {
    const id = await port.accept({ instance: engine.instanceId, to, text });
    await engine.claim();
    await engine.build(id);
    await engine.sent(id);
    return id;
  }
  const waIdOf = async (id: string) =>
    (await port.world.database.message.findUniqueOrThrow({ where: { id } })).waMessageId;

  test('of our own message has its text while that is kept, and none afterwards', async () => {
    const to = someone();
    const first = await leave('Olá', to);
    await answer(first);
    const what = { wa_message_id: await waIdOf(first), chat: `${to}@s.whatsapp.net`, from_me: true };
    expect(await quoted()).toEqual([{ ...what, participant: null, type: 'text', text: 'Olá' }]);
    await port.world.database.messageContent.delete({ where: { messageId: first } });
    await answer(first);
    expect(await quoted()).toMatchObject([{ ...what, text: '' }]);
  });

  test.each([
    ['a contact', `551191234567@s.whatsapp.net`, null],
    ['a member of a group', '120363012345678901@g.us', '5511987650000@s.whatsapp.net'],
  ])('of what came in from %s is made of its event', async (_, chat, participant) => {
    const from = participant ?? chat;
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
    const row = await port.world.database.message.findFirstOrThrow({
      where: { instanceId: engine.instanceId, waMessageId: `IN${engine.instanceId}1` },
    });
    await answer(row.id);
    expect(await quoted()).toEqual([
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

  test('is read only for those that answer something', async () => {
    await port.accept({ instance: engine.instanceId, to: someone(), text: '"reply_to"' });
    expect(await quoted()).toEqual([null]);
  });
});

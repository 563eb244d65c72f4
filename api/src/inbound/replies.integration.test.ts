import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, type SeenEvent } from '@gwk/test/support/api/inbound';
import { until } from '@gwk/test/support/wait';

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
const typedMessage = (text: string, given: Partial<InboundMessage> = {}) => stage.text(ana, text, given);
const inboundEvents = async (): Promise<SeenEvent[]> =>
  (await stage.events(engine)).filter(({ type }) => type !== 'message.sent');
const readReply = ({ data }: SeenEvent) => data['reply'] as Record<string, unknown>;
const readChoices = async () =>
  (await inboundEvents()).map(({ type, data }) =>
    type === 'message.interactive_reply' ? readReply({ type, data })['option_id'] : type,
  );

describe('a click', () => {
  test.each(['native_flow', 'button', 'template_button', 'list'] as const)(
    'on a %s names its option and menu in one event',
    async (source) => {
      const menu = await stage.menu(engine, ana);
      const click = { option_id: 'no', label: 'Não', source, in_reply_to_wa_message_id: menu.waMessageId };
      const given = typedMessage('Não', { type: 'interactive', click });
      await receive(given);
      const [row] = await stage.inbound(engine);
      const [event, ...rest] = await inboundEvents();
      expect(rest).toEqual([]);
      expect(event!.type).toBe('message.interactive_reply');
      expect(event!.data).toMatchObject({
        message_id: `msg_${row!.id.replaceAll('-', '')}`,
        wa_message_id: given.wa_message_id,
        chat: { is_group: false, phone: ana },
        from: { phone: ana },
        from_me: false,
        type: 'interactive',
        text: 'Não',
      });
      expect(readReply(event!)).toEqual({
        option_id: 'no',
        label: 'Não',
        source,
        in_reply_to: menu.publicId,
        in_reply_to_wa_message_id: menu.waMessageId,
      });
    },
  );

  test('takes the label from the menu if the network sends only the id', async () => {
    const { waMessageId } = await stage.menu(engine, ana);
    const click = { option_id: 'yes', label: null, source: 'native_flow' as const };
    await receive(
      typedMessage('', {
        text: null,
        type: 'interactive',
        click: { ...click, in_reply_to_wa_message_id: waMessageId },
      }),
    );
    const [event] = await inboundEvents();
    expect(readReply(event!)).toMatchObject({ option_id: 'yes', label: 'Sim' });
    expect(event!.data['text']).toBe('Sim');
  });

  test('is accepted on an old menu, an answered one and one no longer stored', async () => {
    const old = await stage.menu(engine, ana, { sentAt: new Date(Date.now() - 80 * 86_400_000) });
    const click = (id: string) => ({
      option_id: 'yes',
      label: 'Sim',
      source: 'button' as const,
      in_reply_to_wa_message_id: id,
    });
    await receive(typedMessage('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await receive(typedMessage('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await stage.database.menu.delete({ where: { messageId: old.messageId } });
    await receive(typedMessage('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await receive(typedMessage('Sim', { type: 'interactive', click: click('3EB0UNKNOWN') }));
    const replies = (await inboundEvents()).map(readReply);
    expect(replies.map((reply) => reply['in_reply_to'])).toEqual([
      ...[old.publicId, old.publicId, old.publicId],
      null,
    ]);
    expect(replies[3]).toMatchObject({ in_reply_to_wa_message_id: '3EB0UNKNOWN' });
  });

  test('on the menu of another conversation does not answer that menu', async () => {
    const menu = await stage.menu(engine, ana);
    const target = { in_reply_to_wa_message_id: menu.waMessageId };
    const click = { option_id: 'no', label: 'Não', source: 'button' as const, ...target };
    await receive(stage.text(stage.someone(), 'Não', { type: 'interactive', click }));
    await receive(typedMessage('1'));
    const [forged, own] = await inboundEvents();
    expect(forged).toMatchObject({ type: 'message.received', data: { type: 'interactive', text: 'Não' } });
    expect(forged!.data).not.toHaveProperty('reply');
    expect(readReply(own!)).toMatchObject({ option_id: 'yes', in_reply_to: menu.publicId, source: 'text' });
  });

  test("on an option that the menu lacks is an ordinary message, and the label is the menu's", async () => {
    const { waMessageId } = await stage.menu(engine, ana);
    const click = (option_id: string) => ({
      ...{ option_id, label: 'Grátis', source: 'native_flow' as const },
      in_reply_to_wa_message_id: waMessageId,
    });
    await receive(typedMessage('Grátis', { type: 'interactive', click: click('free') }));
    await receive(typedMessage('Grátis', { type: 'interactive', click: click('yes') }));
    const [forged, own] = await inboundEvents();
    expect(forged!.type).toBe('message.received');
    expect(readReply(own!)).toMatchObject({ option_id: 'yes', label: 'Sim' });
  });

  test.each(['status@broadcast', '120363000000000077@g.us'])(
    'or a typed reply that quotes a message of %s is an ordinary message',
    async (chat) => {
      const { waMessageId } = await stage.menu(engine, ana);
      const quote = { quoted_wa_message_id: waMessageId, quoted: { chat } };
      const click = { option_id: 'yes', label: 'Sim', source: 'button' as const };
      const target = { in_reply_to_wa_message_id: waMessageId };
      await receive(
        typedMessage('1', quote),
        typedMessage('1', { ...quote, quoted_wa_message_id: '3EB0STATUS' }),
      );
      await receive(typedMessage('Sim', { ...quote, type: 'interactive', click: { ...click, ...target } }));
      await receive(typedMessage('1'));
      expect(await readChoices()).toEqual([...Array<string>(3).fill('message.received'), 'yes']);
    },
  );

  test('counts as a message written by the contact', async () => {
    const menu = await stage.menu(engine, ana);
    const click = {
      option_id: 'no',
      label: 'Não',
      source: 'list' as const,
      in_reply_to_wa_message_id: menu.waMessageId,
    };
    await receive(typedMessage('Não', { type: 'interactive', click }));
    const { conversationId } = await stage.message(menu.messageId);
    const conversation = await stage.database.conversation.findUniqueOrThrow({
      where: { id: conversationId },
    });
    expect(conversation.lastWroteAt).not.toBeNull();
  });
});

describe('a typed reply', () => {
  test('by number or name emits one interactive reply with source text, and no message.received', async () => {
    const first = await stage.menu(engine, ana);
    await receive(typedMessage('2.'));
    const second = await stage.menu(engine, ana);
    await receive(typedMessage('NAO'));
    const [one, two, ...rest] = await inboundEvents();
    expect(rest).toEqual([]);
    expect(one!.data).toMatchObject({ type: 'text', text: '2.' });
    expect(readReply(one!)).toEqual({
      option_id: 'no',
      label: 'Não',
      source: 'text',
      in_reply_to: first.publicId,
      in_reply_to_wa_message_id: first.waMessageId,
    });
    expect(readReply(two!)).toMatchObject({ option_id: 'no', in_reply_to: second.publicId });
  });

  test('answers the newest menu, or the quoted one', async () => {
    const older = await stage.menu(engine, ana, {
      options: [{ id: 'old-1', label: 'Antiga', number: 1 }],
      sentAt: new Date(Date.now() - 60_000),
    });
    await stage.menu(engine, ana);
    await receive(typedMessage('antiga'));
    await receive(typedMessage('1', { quoted_wa_message_id: older.waMessageId }));
    await receive(typedMessage('1'));
    expect(await readChoices()).toEqual(['message.received', 'old-1', 'yes']);
  });

  test('is accepted within the menu_ttl_hours of the current policy', async () => {
    await stage.menu(engine, ana, { sentAt: new Date(Date.now() - 3 * 3_600_000) });
    const policy = (hours: number) =>
      stage.database.instance.update({
        where: { id: engine.instanceId },
        data: { policy: { menu_ttl_hours: hours } },
      });
    await policy(2);
    await receive(typedMessage('1'));
    await policy(4);
    await receive(typedMessage('1'));
    expect(await readChoices()).toEqual(['message.received', 'yes']);
  });

  test('in native mode answers by name, not by number', async () => {
    await stage.menu(engine, ana, { mode: 'native' });
    await receive(typedMessage('2'));
    await receive(typedMessage('não'));
    expect(await readChoices()).toEqual(['message.received', 'no']);
  });

  test('after an answer, typed or clicked, is an ordinary message', async () => {
    await stage.menu(engine, ana);
    await receive(typedMessage('1'), typedMessage('2'));
    await receive(typedMessage('sim'));
    const clicked = await stage.menu(engine, ana);
    const click = {
      option_id: 'yes',
      label: 'Sim',
      source: 'button' as const,
      in_reply_to_wa_message_id: clicked.waMessageId,
    };
    await receive(typedMessage('Sim', { type: 'interactive', click }));
    await receive(typedMessage('2'));
    expect(await readChoices()).toEqual([
      'yes',
      'message.received',
      'message.received',
      'yes',
      'message.received',
    ]);
  });

  test('is not taken from another contact, from a caption or from the instance itself', async () => {
    await stage.menu(engine, ana);
    await receive(stage.text(stage.someone(), '1'));
    await receive(typedMessage('1', { type: 'image' }));
    await receive(typedMessage('1', { from_me: true }));
    expect(await readChoices()).toEqual(['message.received', 'message.received', 'message.sent_from_device']);
  });

  test('answers once if many arrive at once', async () => {
    await stage.menu(engine, ana);
    await Promise.all(Array.from({ length: 12 }, (_, i) => receive(typedMessage(String((i % 2) + 1)))));
    const seen = await readChoices();
    expect(seen.filter((choice) => choice !== 'message.received')).toHaveLength(1);
    expect(seen).toHaveLength(12);
  });

  test('is decided again if another menu is sent meanwhile', async () => {
    const menu = await stage.menu(engine, ana);
    const { conversationId } = await stage.message(menu.messageId);
    const options = [{ id: 'other', label: 'Outra', number: 1 }];
    const next = await stage.menu(engine, ana, { options, sentAt: new Date(Date.now() - 1_000) });
    let reply: Promise<void> | undefined;
    await stage.database.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM conversations WHERE id = ${conversationId}::uuid FOR UPDATE`;
      reply = receive(typedMessage('1'));
      await until(
        async () => {
          // Outside the transaction, which would see the activity of its first look only.
          const waiting = await stage.database.$queryRaw<unknown[]>`
            SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
          return waiting.length > 0;
        },
        { what: 'the reply waits for the lock' },
      );
      // Until now it was the older menu.
      await tx.menu.update({
        where: { messageId: next.messageId },
        data: { sentAt: new Date(Date.now() + 1_000) },
      });
    });
    await reply;
    expect(await readChoices()).toEqual(['other']);
  });

  test('delivered twice answers once', async () => {
    await stage.menu(engine, ana);
    const given = typedMessage('1');
    await Promise.all([receive(given), receive(given), receive(given, given)]);
    expect(await readChoices()).toEqual(['yes']);
  });
});

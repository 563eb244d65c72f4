import { createHash } from 'node:crypto';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid, type SeenEvent } from '@gwk/test/support/api/inbound';
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
const typed = (text: string, given: Partial<InboundMessage> = {}) => stage.text(ana, text, given);
const incoming = async (): Promise<SeenEvent[]> =>
  (await stage.events(engine)).filter(({ type }) => type !== 'message.sent');
const replyOf = ({ data }: SeenEvent) => data['reply'] as Record<string, unknown>;
const choices = async () =>
  (await incoming()).map(({ type, data }) =>
    type === 'message.interactive_reply' ? replyOf({ type, data })['option_id'] : type,
  );

describe('a click', () => {
  test.each(['native_flow', 'button', 'template_button', 'list'] as const)(
    'of a %s names its option and the menu, and is one event',
    async (source) => {
      const menu = await stage.menu(engine, ana);
      const click = { option_id: 'no', label: 'Não', source, in_reply_to_wa_message_id: menu.waMessageId };
      const given = typed('Não', { type: 'interactive', click });
      await receive(given);
      const [row] = await stage.inbound(engine);
      const [event, ...rest] = await incoming();
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
      expect(replyOf(event!)).toEqual({
        option_id: 'no',
        label: 'Não',
        source,
        in_reply_to: menu.publicId,
        in_reply_to_wa_message_id: menu.waMessageId,
      });
    },
  );

  test('has the label of the menu where the network tells the id alone', async () => {
    const { waMessageId } = await stage.menu(engine, ana);
    const click = { option_id: 'yes', label: null, source: 'native_flow' as const };
    await receive(
      typed('', {
        text: null,
        type: 'interactive',
        click: { ...click, in_reply_to_wa_message_id: waMessageId },
      }),
    );
    const [event] = await incoming();
    expect(replyOf(event!)).toMatchObject({ option_id: 'yes', label: 'Sim' });
    expect(event!.data['text']).toBe('Sim');
  });

  test('counts on an old menu, on one that was answered, and on one that is not kept any more', async () => {
    const old = await stage.menu(engine, ana, { sentAt: new Date(Date.now() - 80 * 86_400_000) });
    const click = (id: string) => ({
      option_id: 'yes',
      label: 'Sim',
      source: 'button' as const,
      in_reply_to_wa_message_id: id,
    });
    await receive(typed('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await receive(typed('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await stage.database.menu.delete({ where: { messageId: old.messageId } });
    await receive(typed('Sim', { type: 'interactive', click: click(old.waMessageId) }));
    await receive(typed('Sim', { type: 'interactive', click: click('3EB0UNKNOWN') }));
    const replies = (await incoming()).map(replyOf);
    expect(replies.map((reply) => reply['in_reply_to'])).toEqual([
      ...[old.publicId, old.publicId, old.publicId],
      null,
    ]);
    expect(replies[3]).toMatchObject({ in_reply_to_wa_message_id: '3EB0UNKNOWN' });
  });

  test('on the menu of another conversation answers nothing there', async () => {
    const menu = await stage.menu(engine, ana);
    const target = { in_reply_to_wa_message_id: menu.waMessageId };
    const click = { option_id: 'no', label: 'Não', source: 'button' as const, ...target };
    await receive(stage.text(stage.someone(), 'Não', { type: 'interactive', click }));
    await receive(typed('1'));
    const [forged, own] = (await incoming()).map(replyOf);
    expect(forged).toMatchObject({ in_reply_to: null, in_reply_to_wa_message_id: menu.waMessageId });
    expect(own).toMatchObject({ option_id: 'yes', in_reply_to: menu.publicId, source: 'text' });
  });

  test('counts as writing', async () => {
    const menu = await stage.menu(engine, ana);
    const click = {
      option_id: 'no',
      label: 'Não',
      source: 'list' as const,
      in_reply_to_wa_message_id: menu.waMessageId,
    };
    await receive(typed('Não', { type: 'interactive', click }));
    const { conversationId } = await stage.message(menu.messageId);
    const conversation = await stage.database.conversation.findUniqueOrThrow({
      where: { id: conversationId },
    });
    expect(conversation.lastWroteAt).not.toBeNull();
  });
});

describe('a typed reply (the five rules)', () => {
  test('by number and by name is one interactive_reply with source text, and no message.received', async () => {
    const first = await stage.menu(engine, ana);
    await receive(typed('2.'));
    const second = await stage.menu(engine, ana);
    await receive(typed('NAO'));
    const [one, two, ...rest] = await incoming();
    expect(rest).toEqual([]);
    expect(one!.data).toMatchObject({ type: 'text', text: '2.' });
    expect(replyOf(one!)).toEqual({
      option_id: 'no',
      label: 'Não',
      source: 'text',
      in_reply_to: first.publicId,
      in_reply_to_wa_message_id: first.waMessageId,
    });
    expect(replyOf(two!)).toMatchObject({ option_id: 'no', in_reply_to: second.publicId });
  });

  test('counts for the newest menu, or the one that was quoted', async () => {
    const older = await stage.menu(engine, ana, {
      options: [{ id: 'old-1', label: 'Antiga', number: 1 }],
      sentAt: new Date(Date.now() - 60_000),
    });
    await stage.menu(engine, ana);
    await receive(typed('antiga'));
    await receive(typed('1', { quoted_wa_message_id: older.waMessageId }));
    await receive(typed('1'));
    expect(await choices()).toEqual(['message.received', 'old-1', 'yes']);
  });

  test('counts within the hours of the policy in force', async () => {
    await stage.menu(engine, ana, { sentAt: new Date(Date.now() - 3 * 3_600_000) });
    const policy = (hours: number) =>
      stage.database.instance.update({
        where: { id: engine.instanceId },
        data: { policy: { menu_ttl_hours: hours } },
      });
    await policy(2);
    await receive(typed('1'));
    await policy(4);
    await receive(typed('1'));
    expect(await choices()).toEqual(['message.received', 'yes']);
  });

  test('in mode native a number is a message, a name an answer', async () => {
    await stage.menu(engine, ana, { mode: 'native' });
    await receive(typed('2'));
    await receive(typed('não'));
    expect(await choices()).toEqual(['message.received', 'no']);
  });

  test('after an answer, typed or clicked, a number and a name are messages', async () => {
    await stage.menu(engine, ana);
    await receive(typed('1'), typed('2'));
    await receive(typed('sim'));
    const clicked = await stage.menu(engine, ana);
    const click = {
      option_id: 'yes',
      label: 'Sim',
      source: 'button' as const,
      in_reply_to_wa_message_id: clicked.waMessageId,
    };
    await receive(typed('Sim', { type: 'interactive', click }));
    await receive(typed('2'));
    expect(await choices()).toEqual([
      'yes',
      'message.received',
      'message.received',
      'yes',
      'message.received',
    ]);
  });

  test("is nobody else's answer, no caption, and nothing that the number itself wrote", async () => {
    await stage.menu(engine, ana);
    await receive(stage.text(stage.someone(), '1'));
    await receive(typed('1', { type: 'image' }));
    await receive(typed('1', { from_me: true }));
    expect(await choices()).toEqual(['message.received', 'message.received', 'message.sent_from_device']);
  });

  test('of many at once, one is the answer', async () => {
    await stage.menu(engine, ana);
    await Promise.all(Array.from({ length: 12 }, (_, i) => receive(typed(String((i % 2) + 1)))));
    const seen = await choices();
    expect(seen.filter((choice) => choice !== 'message.received')).toHaveLength(1);
    expect(seen).toHaveLength(12);
  });

  test('that is decided while another menu leaves is decided again', async () => {
    const menu = await stage.menu(engine, ana);
    const { conversationId } = await stage.message(menu.messageId);
    const options = [{ id: 'other', label: 'Outra', number: 1 }];
    const next = await stage.menu(engine, ana, { options, sentAt: new Date(Date.now() - 1_000) });
    let reply: Promise<void> | undefined;
    await stage.database.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM conversations WHERE id = ${conversationId}::uuid FOR UPDATE`;
      reply = receive(typed('1'));
      await until(
        async () => {
          const waiting = await tx.$queryRaw<unknown[]>`
            SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
          return waiting.length > 0;
        },
        { what: 'the reply waits' },
      );
      // Until now it was the older of the two.
      await tx.menu.update({
        where: { messageId: next.messageId },
        data: { sentAt: new Date(Date.now() + 1_000) },
      });
    });
    await reply;
    expect(await choices()).toEqual(['other']);
  });

  test('that is delivered twice is one answer', async () => {
    await stage.menu(engine, ana);
    const given = typed('1');
    await Promise.all([receive(given), receive(given), receive(given, given)]);
    expect(await choices()).toEqual(['yes']);
  });
});

describe('a vote', () => {
  const COLOURS = ['Azul', 'Verde', 'Roxo'].map((label) => ({ id: label[0]!, label, number: null }));
  const vote = (poll: string, ...labels: string[]) => {
    const chosen = labels.map((label) => createHash('sha256').update(label).digest('hex'));
    return typed('', { text: null, type: 'poll', vote: { poll_wa_message_id: poll, chosen } });
  };
  const poll = (selectable = 1) =>
    stage.menu(engine, ana, { kind: 'poll', mode: 'native', options: COLOURS, selectable });
  const votes = async () =>
    (await incoming()).map((event) => {
      const { option_id, vote_removed } = replyOf(event);
      return vote_removed ? `-${String(option_id)}` : option_id;
    });

  test('is a reply with the option; withdrawn, one that says so', async () => {
    const { waMessageId, publicId } = await poll();
    await receive(vote(waMessageId, 'Verde'));
    await receive(vote(waMessageId));
    const [chosen, withdrawn] = await incoming();
    expect(chosen!.data).toMatchObject({ type: 'poll', text: 'Verde' });
    expect(replyOf(chosen!)).toEqual({
      option_id: 'V',
      label: 'Verde',
      source: 'poll',
      in_reply_to: publicId,
      in_reply_to_wa_message_id: waMessageId,
    });
    expect(replyOf(withdrawn!)).toMatchObject({ option_id: 'V', vote_removed: true });
    expect(await stage.inbound(engine)).toHaveLength(2);
  });

  test('that moves, or marks several, is told option by option', async () => {
    const { waMessageId } = await poll(3);
    await receive(vote(waMessageId, 'Azul'));
    await receive(vote(waMessageId, 'Azul', 'Roxo'));
    await receive(vote(waMessageId, 'Verde'));
    expect(await votes()).toEqual(['A', 'R', 'V', '-A', '-R']);
  });

  test('that comes in a group with others by the same voter takes its turn', async () => {
    const { waMessageId } = await poll();
    await receive(vote(waMessageId, 'Azul'), vote(waMessageId, 'Verde'), vote(waMessageId));
    expect(await votes()).toEqual(['A', 'V', '-A', '-V']);
  });

  test('of each member of a group is their own', async () => {
    const group = '120363000000000077@g.us';
    const [bia, caio] = [stage.someone(), stage.someone()];
    const { waMessageId } = await stage.menu(engine, group, {
      kind: 'poll',
      mode: 'native',
      options: COLOURS,
    });
    const by = (phone: string, ...labels: string[]) => ({
      ...vote(waMessageId, ...labels),
      chat: group,
      from: `${phone}@s.whatsapp.net`,
    });
    await receive(by(bia, 'Azul'), by(caio, 'Azul'));
    await receive(by(bia));
    const seen = (await incoming()).map((event) => {
      const { option_id, vote_removed = false } = replyOf(event);
      return [(event.data['from'] as { phone: string }).phone, option_id, vote_removed];
    });
    expect(seen).toEqual([
      [bia, 'A', false],
      [caio, 'A', false],
      [bia, 'A', true],
    ]);
  });

  test('told a second time changes nothing, and one in a poll that is not known is nothing', async () => {
    const { waMessageId } = await poll();
    const given = vote(waMessageId, 'Azul');
    await Promise.all([receive(given), receive(given)]);
    await receive(vote(waMessageId, 'Azul'));
    await receive(vote('3EB0DEVICE', 'Azul'));
    expect(await votes()).toEqual(['A']);
    expect(await stage.inbound(engine)).toHaveLength(1);
  });

  test("in the poll of another conversation is nothing, and takes nobody's vote away", async () => {
    const { waMessageId, messageId } = await poll();
    await receive(vote(waMessageId, 'Verde'));
    const stranger = jid(stage.someone());
    await receive({ ...vote(waMessageId), chat: stranger, from: stranger });
    expect(await incoming()).toHaveLength(1);
    const votes = await stage.database.pollVote.findMany({ where: { messageId } });
    expect(votes.map(({ chosen }) => chosen)).toEqual([[1]]);
  });

  test('can be typed by name, not by number', async () => {
    await poll();
    await receive(typed('1'));
    await receive(typed('roxo'));
    expect(await choices()).toEqual(['message.received', 'R']);
  });
});

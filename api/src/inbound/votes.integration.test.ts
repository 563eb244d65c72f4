import { createHash } from 'node:crypto';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid, type SeenEvent } from '@gwk/test/support/api/inbound';

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

describe('a poll vote', () => {
  const COLOURS = ['Azul', 'Verde', 'Roxo'].map((label) => ({ id: label[0]!, label, number: null }));
  const vote = (poll: string, ...labels: string[]) => {
    const chosen = labels.map((label) => createHash('sha256').update(label).digest('hex'));
    return typedMessage('', { text: null, type: 'poll', vote: { poll_wa_message_id: poll, chosen } });
  };
  const poll = (selectable = 1) =>
    stage.menu(engine, ana, { kind: 'poll', mode: 'native', options: COLOURS, selectable });
  const votes = async () =>
    (await inboundEvents()).map((event) => {
      const { option_id, vote_removed } = readReply(event);
      return vote_removed ? `-${String(option_id)}` : option_id;
    });

  test('emits a reply with the option, and another when it is withdrawn', async () => {
    const { waMessageId, publicId } = await poll();
    await receive(vote(waMessageId, 'Verde'));
    await receive(vote(waMessageId));
    const [chosen, withdrawn] = await inboundEvents();
    expect(chosen!.data).toMatchObject({ type: 'poll', text: 'Verde' });
    expect(readReply(chosen!)).toEqual({
      option_id: 'V',
      label: 'Verde',
      source: 'poll',
      in_reply_to: publicId,
      in_reply_to_wa_message_id: waMessageId,
    });
    expect(readReply(withdrawn!)).toMatchObject({ option_id: 'V', vote_removed: true });
    expect(await stage.inbound(engine)).toHaveLength(2);
  });

  test('that changes or has several options emits one event an option', async () => {
    const { waMessageId } = await poll(3);
    await receive(vote(waMessageId, 'Azul'));
    await receive(vote(waMessageId, 'Azul', 'Roxo'));
    await receive(vote(waMessageId, 'Verde'));
    expect(await votes()).toEqual(['A', 'R', 'V', '-A', '-R']);
  });

  test('in one batch with others of the same voter is applied in order', async () => {
    const { waMessageId } = await poll();
    await receive(vote(waMessageId, 'Azul'), vote(waMessageId, 'Verde'), vote(waMessageId));
    expect(await votes()).toEqual(['A', 'V', '-A', '-V']);
  });

  test('of each group member is separate', async () => {
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
    const seen = (await inboundEvents()).map((event) => {
      const { option_id, vote_removed = false } = readReply(event);
      return [(event.data['from'] as { phone: string }).phone, option_id, vote_removed];
    });
    expect(seen).toEqual([
      [bia, 'A', false],
      [caio, 'A', false],
      [bia, 'A', true],
    ]);
  });

  test('delivered twice changes nothing, and one in an unknown poll is ignored', async () => {
    const { waMessageId } = await poll();
    const given = vote(waMessageId, 'Azul');
    await Promise.all([receive(given), receive(given)]);
    await receive(vote(waMessageId, 'Azul'));
    await receive(vote('3EB0DEVICE', 'Azul'));
    expect(await votes()).toEqual(['A']);
    expect(await stage.inbound(engine)).toHaveLength(1);
  });

  test('in the poll of another conversation is ignored, and removes no vote', async () => {
    const { waMessageId, messageId } = await poll();
    await receive(vote(waMessageId, 'Verde'));
    const stranger = jid(stage.someone());
    await receive({ ...vote(waMessageId), chat: stranger, from: stranger });
    expect(await inboundEvents()).toHaveLength(1);
    const votes = await stage.database.pollVote.findMany({ where: { messageId } });
    expect(votes.map(({ chosen }) => chosen)).toEqual([[1]]);
  });

  test('of the account itself is not the vote of the contact, and answers nothing', async () => {
    const { waMessageId, messageId } = await poll();
    await receive(vote(waMessageId, 'Verde'));
    await receive({ ...vote(waMessageId, 'Azul'), from_me: true, from: jid(stage.someone()) });
    await receive(vote(waMessageId));
    expect(await votes()).toEqual(['V', 'A', '-V']);
    expect((await inboundEvents()).map(({ type }) => type)).toEqual([
      'message.interactive_reply',
      'message.sent_from_device',
      'message.interactive_reply',
    ]);
    expect(await stage.database.pollVote.count({ where: { messageId } })).toBe(2);
  });

  test('of a group member under another id changes the earlier vote', async () => {
    const group = '120363000000000077@g.us';
    const poll = await stage.menu(engine, group, { kind: 'poll', mode: 'native', options: COLOURS });
    const [lid, phone] = [stage.someLid(), jid(ana)];
    const by = (from: string, alt: string, label: string) => ({
      ...vote(poll.waMessageId, label),
      ...{ chat: group, from, alt },
    });
    await receive(by(lid, phone, 'Azul'));
    await receive(by(phone, lid, 'Verde'));
    expect(await votes()).toEqual(['A', 'V', '-A']);
  });

  describe('under any form of the name of its voter', () => {
    const group = '120363000000000077@g.us';
    const groupPoll = () => stage.menu(engine, group, { kind: 'poll', mode: 'native', options: COLOURS });
    const storeVote = (messageId: string, voter: string, ...chosen: number[]) =>
      stage.database.pollVote.create({ data: { messageId, voter, chosen } });
    const voters = async (messageId: string) =>
      (await stage.database.pollVote.findMany({ where: { messageId } })).map(({ voter }) => voter);

    test('a member first known by phone alone changes the vote by LID', async () => {
      const { waMessageId, messageId } = await groupPoll();
      const lid = stage.someLid();
      await receive({ ...vote(waMessageId, 'Azul'), chat: group, from: jid(ana) });
      await receive({ ...vote(waMessageId, 'Verde'), chat: group, from: lid, alt: jid(ana) });
      await receive({ ...vote(waMessageId), chat: group, from: lid });
      expect(await votes()).toEqual(['A', 'V', '-A', '-V']);
      expect(await voters(messageId)).toEqual([lid]);
    });

    test('a vote by phone and one by LID in the same batch', async () => {
      const { waMessageId, messageId } = await groupPoll();
      const lid = stage.someLid();
      await receive(
        { ...vote(waMessageId, 'Azul'), chat: group, from: jid(ana) },
        { ...vote(waMessageId, 'Verde'), chat: group, from: lid, alt: jid(ana) },
      );
      expect(await votes()).toEqual(['A', 'V', '-A']);
      expect(await voters(messageId)).toEqual([lid]);
    });

    test.each<[string, (lid: string) => string]>([
      ['the phone number', () => ana],
      ['the network id of the phone', () => jid(ana)],
      ['the LID', (lid) => lid],
    ])('a vote that an earlier release stored by %s', async (_, nameOf) => {
      const { waMessageId, messageId } = await groupPoll();
      const lid = stage.someLid();
      await storeVote(messageId, nameOf(lid), 0);
      await receive({ ...vote(waMessageId, 'Azul'), chat: group, from: lid, alt: jid(ana) });
      await receive({ ...vote(waMessageId), chat: group, from: lid, alt: jid(ana) });
      expect(await votes()).toEqual(['-A']);
      expect(await voters(messageId)).toEqual([lid]);
    });

    test('a Brazilian number without its ninth digit', async () => {
      const { waMessageId, messageId } = await groupPoll();
      const short = ana.replace(/^(....)9/, '$1');
      await storeVote(messageId, ana, 0);
      await receive({ ...vote(waMessageId), chat: group, from: stage.someLid(), alt: jid(short) });
      expect(await votes()).toEqual(['-A']);
    });

    test('the contact of a direct chat', async () => {
      const { waMessageId, messageId } = await poll();
      await storeVote(messageId, ana, 1);
      await receive(vote(waMessageId));
      expect(await votes()).toEqual(['-V']);
      expect(await voters(messageId)).toEqual(['']);
    });

    test('the own account by phone number and by LID', async () => {
      const { waMessageId, messageId } = await groupPoll();
      const [own, ownLid] = [jid(stage.someone()), stage.someLid()];
      await storeVote(messageId, own, 0);
      const by = (from: string, ...labels: string[]) => {
        return { ...vote(waMessageId, ...labels), chat: group, from, from_me: true };
      };
      await receive(by(own, 'Azul'));
      await receive(by(own, 'Verde'));
      await receive(by(ownLid, 'Verde'));
      await receive(by(ownLid));
      expect(await votes()).toEqual(['V', '-A', '-V']);
    });

    test('but of no other member', async () => {
      const { waMessageId, messageId } = await groupPoll();
      await storeVote(messageId, stage.someone(), 0);
      await receive({ ...vote(waMessageId), chat: group, from: stage.someLid(), alt: jid(ana) });
      expect(await votes()).toEqual([]);
    });
  });

  test('can be typed by name, not by number', async () => {
    await poll();
    await receive(typedMessage('1'));
    await receive(typedMessage('roxo'));
    expect(await readChoices()).toEqual(['message.received', 'R']);
  });
});

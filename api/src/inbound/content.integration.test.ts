import { Readable } from 'node:stream';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
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
const publicId = (id: string) => `msg_${id.replaceAll('-', '')}`;

describe('the event of a received message', () => {
  const receiveData = async (given: Partial<InboundMessage>) => {
    await receive(stage.text(ana, '', { text: null, ...given }));
    return (await stage.lastEvent(engine)).data;
  };

  test('has a location', async () => {
    const location = { latitude: -23.55, longitude: -46.63, name: 'Loja', address: 'Rua 1' };
    const data = await receiveData({ type: 'location', location });
    expect(data).toMatchObject({ type: 'location', location });
    expect(data).not.toHaveProperty('text');
  });

  test('has contacts', async () => {
    const contacts = [{ name: 'Bia', phones: ['5511999990000'] }];
    expect(await receiveData({ type: 'contact', contacts })).toMatchObject({ type: 'contact', contacts });
  });

  test('leaves out what only a newer engine states', async () => {
    const newer = { mood: 'glad', quoted: { author: jid(ana), mood: 'glad' } };
    const data = await receiveData({ text: 'oi', quoted_wa_message_id: '3EB0Q', ...newer });
    expect(data).toMatchObject({ text: 'oi', quoted: { id: '3EB0Q', author: jid(ana) } });
    expect(JSON.stringify(data)).not.toContain('mood');
  });

  test('has mentions in the form that a send accepts', async () => {
    const mentions = ['5511988887777@s.whatsapp.net', '5511988887777:3@s.whatsapp.net', '99887766554433@lid'];
    const data = await receiveData({ text: 'oi @bia', mentions });
    expect(data['mentions']).toEqual(['5511988887777', '5511988887777', '99887766554433@lid']);
  });

  test('has the forwarded flag and the quoted message', async () => {
    const data = await receiveData({ text: 'veja', is_forwarded: true, quoted_wa_message_id: '3EB0Q' });
    expect(data).toMatchObject({ is_forwarded: true, quoted_wa_message_id: '3EB0Q' });
  });

  test('has more about the quoted message, and the details of the content', async () => {
    const details = {
      kind: 'order',
      is_view_once: true,
      expires_in_s: 86_400,
      mentions_me: true,
      album_id: '3EB0ALBUM',
      referral: { source_id: '1', ctwa_clid: 'x', ctwa_payload: 'AAEC' },
    };
    const quoted = { author: '5511988887777@s.whatsapp.net', chat: 'status@broadcast' };
    const data = await receiveData({ text: 'oi', quoted_wa_message_id: '3EB0Q', quoted, ...details });
    expect(data).toMatchObject({
      quoted_wa_message_id: '3EB0Q',
      quoted: { id: '3EB0Q', ...quoted },
      ...details,
    });
  });

  const upload = async (by: TestEngine, bytes: Buffer, filename?: string) => {
    const { epoch, holder } = by.lease;
    const named = { epoch: String(epoch), holder, ...(filename !== undefined && { filename }) };
    return stage.internalApi.clientWith(by.token).upload(named, Readable.from([bytes]));
  };

  test('has a file with its id and properties', async () => {
    const bytes = Buffer.from('%PDF-1.7\n');
    const { media_id, ...file } = await upload(engine, bytes);
    const data = await receiveData({ type: 'document', text: 'segue', media: { media_id } });
    expect(data['media']).toEqual({ media_id: `med_${media_id.replaceAll('-', '')}`, ...file });
    expect(data['text']).toBe('segue');
    const voice = await receiveData({ type: 'audio', media: { media_id, voice: true, duration_s: 3.5 } });
    expect(voice['media']).toMatchObject({ ...file, voice: true, duration_s: 3.5 });
  });

  test('has the name of a file, without separators and with its extension', async () => {
    const { media_id } = await upload(engine, Buffer.from('%PDF-1.7\n'), 'Nota 3/2026\u202e.pdf');
    const data = await receiveData({ type: 'document', media: { media_id } });
    expect(data['media']).toMatchObject({ filename: 'Nota 3_2026.pdf' });
  });

  test('has the reason for a missing file', async () => {
    const known = { mimetype: 'application/pdf', size: 3 };
    const media = { error: 'expired', ...known, filename: 'Nota 3/2026\u202e.pdf' };
    expect(await receiveData({ type: 'document', media })).toMatchObject({
      media: { error: 'expired', ...known, filename: 'Nota 3_2026.pdf' },
    });
  });

  test('has no file that another instance received', async () => {
    const other = await stage.engine();
    const { media_id } = await upload(other, Buffer.from('%PDF-1.7\n'));
    const data = await receiveData({ type: 'document', media: { media_id } });
    expect(data['media']).toEqual({ error: 'unavailable' });
  });

  test('has no absent fields', async () => {
    const data = await receiveData({ text: 'oi', mentions: [], is_forwarded: false, mentions_me: false });
    for (const absent of [
      'location',
      'contacts',
      'mentions',
      'is_forwarded',
      'quoted_wa_message_id',
      'quoted',
      'kind',
      'mentions_me',
      'is_truncated',
      'media',
      'reply',
    ]) {
      expect(data).not.toHaveProperty(absent);
    }
  });

  test.each(['image', 'video', 'audio', 'document', 'sticker', 'poll', 'interactive', 'other'] as const)(
    'has the type %s',
    async (type) => {
      expect(await receiveData({ type })).toMatchObject({ type });
      expect((await stage.inbound(engine))[0]).toMatchObject({ type, status: 'delivered' });
    },
  );

  test('has the details of a card, also of the quoted one', async () => {
    const details = { kind: 'poll', options: ['a', 'b'], selectable: 1 };
    const pair = { wa_message_id: 'P', kind: 'hd_image' as const };
    const forwarded_from = { id: '120@newsletter', name: 'News', post_id: 7 };
    const quoted = { quoted_wa_message_id: 'Q', quoted: { details } };
    const data = await receiveData({ type: 'poll', details, pair, forwarded_from, ...quoted });
    expect(data).toMatchObject({ details, pair, forwarded_from, quoted: { id: 'Q', details } });
  });

  test('has a message id of the gateway also when the message came from a device', async () => {
    const data = await receiveData({
      type: 'location',
      from_me: true,
      location: { latitude: 1, longitude: 2 },
    });
    expect((await stage.lastEvent(engine)).type).toBe('message.sent_from_device');
    expect(data).toMatchObject({ from_me: true, location: { latitude: 1, longitude: 2 } });
    expect(data['message_id']).toMatch(/^msg_/);
  });
});

describe('broadcast lists', () => {
  const list = '1700000000@broadcast';
  const owner = jid('5511900000001');

  test('a message of the account to its own list is sent_from_device, once', async () => {
    const given = stage.text(owner, 'news', { chat: list, from_me: true });
    await receive(given, given);
    await receive(given, stage.text(owner, 'more', { chat: list, from_me: true }));
    const events = await stage.events(engine);
    expect(events.map(({ type, data }) => [type, data['text']])).toEqual([
      ['message.sent_from_device', 'news'],
      ['message.sent_from_device', 'more'],
    ]);
    expect(events[0]!.data['chat']).toEqual({ id: list, is_group: false });
    expect(await stage.inbound(engine)).toEqual([]);
  });

  test.each([
    ['the list of somebody else', list],
    ['a status', 'status@broadcast'],
    ['a channel', '120363000000000001@newsletter'],
  ])('%s is no conversation', async (_, chat) => {
    await receive(stage.text(ana, 'x', { chat }));
    expect(await stage.events(engine)).toEqual([]);
  });
});

describe('inbound edits, deletions and reactions', () => {
  const change = (given: InboundMessage['change'], more: Partial<InboundMessage> = {}) =>
    stage.text(ana, '', { text: null, type: 'other', change: given!, ...more });
  const received = async (text = 'oi') => {
    const message = stage.text(ana, text);
    await receive(message);
    return (await stage.inbound(engine)).at(-1)!;
  };

  test('an edit emits the new text and creates no message', async () => {
    const row = await received();
    const wroteAt = await lastWroteAt(row.conversationId);
    await receive(change({ kind: 'edit', wa_message_id: row.waMessageId!, text: 'olá' }));
    const { type, data } = await stage.lastEvent(engine);
    expect(type).toBe('message.edited');
    expect(data).toMatchObject({
      message_id: publicId(row.id),
      wa_message_id: row.waMessageId,
      chat: { id: jid(ana), is_group: false, phone: ana, username: null },
      from: { id: jid(ana), phone: ana },
      from_me: false,
      text: 'olá',
    });
    expect(await stage.inbound(engine)).toHaveLength(1);
    expect(await lastWroteAt(row.conversationId)).toEqual(wroteAt);
  });

  test('a deletion emits an event, marks the message and keeps its record', async () => {
    const row = await received();
    await receive(change({ kind: 'delete', wa_message_id: row.waMessageId! }));
    const { type, data } = await stage.lastEvent(engine);
    expect([type, data['message_id']]).toEqual(['message.deleted', publicId(row.id)]);
    expect(await stage.message(row.id)).toMatchObject({ deletedForAll: true, status: 'delivered' });
  });

  test.each([true, false])(
    'a deletion removes card and menu, and content that has left: %s',
    async (left) => {
      const { messageId, waMessageId } = await stage.menu(engine, ana);
      const { messageContent, messageCard, menu } = stage.database;
      const where = { messageId };
      const data = { messageId, instanceId: engine.instanceId };
      const sealed = Buffer.from('sealed');
      await messageContent.update({ where, data: { deleteAt: left ? new Date() : null } });
      await messageCard.create({ data: { ...data, cardSealed: sealed } });
      await receive(change({ kind: 'delete', wa_message_id: waMessageId }, { from_me: true }));
      expect([await messageCard.count({ where }), await menu.count({ where })]).toEqual([0, 0]);
      expect(await messageContent.count({ where })).toBe(left ? 0 : 1);
    },
  );

  test('a reaction to a sent message and its removal emit events', async () => {
    const sent = await stage.sent(engine, ana);
    await receive(change({ kind: 'reaction', wa_message_id: sent.waMessageId!, emoji: '👍' }));
    await receive(change({ kind: 'reaction', wa_message_id: sent.waMessageId!, emoji: '' }));
    const reactions = await stage.events(engine, 'message.reaction');
    expect(reactions.map(({ data }) => [data['message_id'], data['emoji']])).toEqual([
      [publicId(sent.id), '👍'],
      [publicId(sent.id), ''],
    ]);
  });

  test('changes from a device of the instance apply to its sent messages', async () => {
    const sent = await stage.sent(engine, ana);
    await receive(
      change({ kind: 'edit', wa_message_id: sent.waMessageId!, text: 'novo' }, { from_me: true }),
    );
    await receive(change({ kind: 'delete', wa_message_id: sent.waMessageId! }, { from_me: true }));
    const [edited] = await stage.events(engine, 'message.edited');
    const [deleted] = await stage.events(engine, 'message.deleted');
    expect(edited!.data).toMatchObject({ message_id: publicId(sent.id), from_me: true, text: 'novo' });
    expect(edited!.data).not.toHaveProperty('from');
    expect(deleted!.data).toMatchObject({ message_id: publicId(sent.id), from_me: true });
    expect((await stage.message(sent.id)).deletedForAll).toBe(true);
  });

  test.each<[string, InboundMessage['change'] & object]>([
    ['an edit', { kind: 'edit', wa_message_id: '', text: 'falso' }],
    ['a deletion', { kind: 'delete', wa_message_id: '' }],
    ['a deletion that claims to come from an admin', { kind: 'delete', wa_message_id: '', by_admin: true }],
  ])('%s of a sent message by the contact has no effect', async (_, forged) => {
    const sent = await stage.sent(engine, ana);
    await receive(change({ ...forged, wa_message_id: sent.waMessageId! }));
    expect(await stage.types(engine)).toEqual(['message.sent']);
    expect((await stage.message(sent.id)).deletedForAll).toBe(false);
  });

  test('a change from another conversation has no effect but the text of an edit', async () => {
    const row = await received();
    const [other, id] = [stage.someone(), row.waMessageId!];
    const edit = { kind: 'edit', wa_message_id: id, text: 'falso' } as const;
    const forged = stage.text(other, '', { type: 'other', text: null, change: edit });
    await receive(
      stage.text(other, '', { change: { kind: 'delete', wa_message_id: id } }),
      stage.text(other, '', { change: { kind: 'delete', wa_message_id: id, by_admin: true } }),
      forged,
    );
    const [, event, ...rest] = await stage.events(engine);
    expect(rest).toEqual([]);
    expect(event).toMatchObject({
      type: 'message.received',
      data: { wa_message_id: forged.wa_message_id, type: 'other', kind: 'edit', text: 'falso' },
    });
    expect(JSON.stringify(event!.data)).not.toContain(id);
    expect((await stage.message(row.id)).deletedForAll).toBe(false);
  });

  test('changes of messages that only the phone knows count from the account alone', async () => {
    const target = { wa_message_id: '3EB0DEVICE' };
    await receive(
      change({ kind: 'delete', ...target }),
      change({ kind: 'edit', ...target, text: 'novo' }, { from_me: true }),
      change({ kind: 'delete', ...target }, { from_me: true }),
    );
    const events = await stage.events(engine);
    expect(events.map(({ type }) => type)).toEqual(['message.edited', 'message.deleted']);
    expect(events[0]!.data).toMatchObject({ from_me: true, ...target });
  });

  test('the account does not edit a message of the contact', async () => {
    const row = await received();
    await receive(
      change({ kind: 'edit', wa_message_id: row.waMessageId!, text: 'falso' }, { from_me: true }),
      change({ kind: 'delete', wa_message_id: row.waMessageId! }, { from_me: true }),
    );
    expect(await stage.types(engine)).toEqual(['message.received']);
  });

  describe('in a group', () => {
    const group = '120363000000000088@g.us';
    const written = async (from: string, more: Partial<InboundMessage> = {}) => {
      await receive(stage.text(from, 'oi', { chat: group, ...more }));
      const row = (await stage.inbound(engine)).at(-1)!;
      return { row, target: { wa_message_id: row.waMessageId! } };
    };
    const changes = async () =>
      (await stage.events(engine)).slice(1).map(({ type, data }) => [type, data['message_id']]);

    test('a member edits its own message, from any device', async () => {
      const { row, target } = await written(ana);
      await receive(
        change({ kind: 'edit', ...target, text: 'olá' }, { chat: group, from: `${ana}:4@s.whatsapp.net` }),
        stage.text(stage.someone(), '', { chat: group, change: { kind: 'edit', ...target, text: 'falso' } }),
      );
      expect(await changes()).toEqual([['message.edited', publicId(row.id)]]);
    });

    test('an admin deletes messages of others, a member does not', async () => {
      const { row, target } = await written(ana);
      const deletion = { kind: 'delete', ...target } as const;
      await receive(stage.text(stage.someone(), '', { chat: group, change: deletion }));
      expect((await stage.message(row.id)).deletedForAll).toBe(false);
      await receive(
        stage.text(stage.someone(), '', { chat: group, change: { ...deletion, by_admin: true } }),
      );
      expect(await changes()).toEqual([['message.deleted', publicId(row.id)]]);
      expect((await stage.message(row.id)).deletedForAll).toBe(true);
    });

    test.each<[string, (names: { lid: string; phone: string }) => [object, object]]>([
      ['by LID, changed by phone number', ({ lid, phone }) => [{ from: lid }, { from: phone, alt: lid }]],
      ['by phone number, changed by LID', ({ lid, phone }) => [{ from: phone }, { from: lid, alt: phone }]],
    ])('the author is recognised: known %s', async (_, namesOf) => {
      const [before, after] = namesOf({ lid: stage.someLid(), phone: jid(ana) });
      const { row, target } = await written(ana, before);
      await receive(change({ kind: 'delete', ...target }, { chat: group, ...after }));
      expect(await changes()).toEqual([['message.deleted', publicId(row.id)]]);
    });

    test('the author is recognised by the names of the contact', async () => {
      const lid = stage.someLid();
      const { row, target } = await written(ana, { from: lid });
      await receive(stage.text(ana, 'oi', { chat: lid, from: lid, alt: jid(ana) }));
      const forger = stage.someone();
      await receive(
        stage.text(forger, '', { chat: group, change: { kind: 'delete', ...target } }),
        change({ kind: 'edit', ...target, text: 'olá' }, { chat: group, from: jid(ana) }),
      );
      expect((await changes()).slice(1)).toEqual([['message.edited', publicId(row.id)]]);
    });
  });

  test('a redelivered change emits one event', async () => {
    const row = await received();
    const given = change({ kind: 'reaction', wa_message_id: row.waMessageId!, emoji: '❤️' });
    await Promise.all([receive(given, given), receive(given)]);
    expect(await stage.events(engine, 'message.reaction')).toHaveLength(1);
  });

  async function lastWroteAt(id: string): Promise<Date | null> {
    return (await stage.database.conversation.findUniqueOrThrow({ where: { id } })).lastWroteAt;
  }
});

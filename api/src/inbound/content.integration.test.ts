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

  test('has mentions in the form that a send accepts', async () => {
    const mentions = ['5511988887777@s.whatsapp.net', '5511988887777:3@s.whatsapp.net', '99887766554433@lid'];
    const data = await receiveData({ text: 'oi @bia', mentions });
    expect(data['mentions']).toEqual(['5511988887777', '5511988887777', '99887766554433@lid']);
  });

  test('has the forwarded flag and the quoted message', async () => {
    const data = await receiveData({ text: 'veja', is_forwarded: true, quoted_wa_message_id: '3EB0Q' });
    expect(data).toMatchObject({ is_forwarded: true, quoted_wa_message_id: '3EB0Q' });
  });

  const upload = async (by: TestEngine, bytes: Buffer) => {
    const { epoch, holder } = by.lease;
    const named = { epoch: String(epoch), holder };
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

  test('has the reason for a missing file', async () => {
    expect(await receiveData({ type: 'image', media: { error: 'expired' } })).toMatchObject({
      media: { error: 'expired' },
    });
  });

  test('has no file that another instance received', async () => {
    const other = await stage.engine();
    const { media_id } = await upload(other, Buffer.from('%PDF-1.7\n'));
    const data = await receiveData({ type: 'document', media: { media_id } });
    expect(data['media']).toEqual({ error: 'unavailable' });
  });

  test('has no absent fields', async () => {
    const data = await receiveData({ text: 'oi', mentions: [], is_forwarded: false });
    for (const absent of [
      'location',
      'contacts',
      'mentions',
      'is_forwarded',
      'quoted_wa_message_id',
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

  test('has no message id of the gateway when the message came from a device', async () => {
    const data = await receiveData({
      type: 'location',
      from_me: true,
      location: { latitude: 1, longitude: 2 },
    });
    expect((await stage.lastEvent(engine)).type).toBe('message.sent_from_device');
    expect(data).toMatchObject({ from_me: true, location: { latitude: 1, longitude: 2 } });
    expect(data).not.toHaveProperty('message_id');
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
      chat: { id: jid(ana), is_group: false, phone: ana },
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

  test('changes by another author match no message', async () => {
    const sent = await stage.sent(engine, ana);
    await receive(
      change({ kind: 'edit', wa_message_id: sent.waMessageId!, text: 'falso' }),
      change({ kind: 'delete', wa_message_id: sent.waMessageId! }),
      change({ kind: 'delete', wa_message_id: '3EB0NEVER' }),
    );
    const changes = (await stage.events(engine)).filter(({ type }) => type !== 'message.sent');
    expect(changes.map(({ data }) => data['message_id'])).toEqual([undefined, undefined, undefined]);
    expect((await stage.message(sent.id)).deletedForAll).toBe(false);
  });

  test('changes from another conversation match no message', async () => {
    const row = await received();
    const other = stage.someone();
    await receive(stage.text(other, '', { change: { kind: 'delete', wa_message_id: row.waMessageId! } }));
    expect((await stage.lastEvent(engine)).data).not.toHaveProperty('message_id');
    expect((await stage.message(row.id)).deletedForAll).toBe(false);
  });

  test('in a group, a member edits its own message and an admin deletes those of others', async () => {
    const group = '120363000000000088@g.us';
    const bia = stage.someone();
    await receive(stage.text(ana, 'oi', { chat: group }));
    const [row] = await stage.inbound(engine);
    const target = { wa_message_id: row!.waMessageId! };
    await receive(
      // From another device of the same person.
      change({ kind: 'edit', ...target, text: 'olá' }, { chat: group, from: `${ana}:4@s.whatsapp.net` }),
      stage.text(bia, '', { chat: group, change: { kind: 'edit', ...target, text: 'falso' } }),
      stage.text(bia, '', { chat: group, change: { kind: 'delete', ...target } }),
    );
    const [own, forged] = await stage.events(engine, 'message.edited');
    expect([own!.data['message_id'], forged!.data['message_id']]).toEqual([publicId(row!.id), undefined]);
    expect((await stage.message(row!.id)).deletedForAll).toBe(true);
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

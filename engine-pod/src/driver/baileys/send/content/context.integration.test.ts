import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ClaimedMessage, QuotedMessage } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import { NEVER_ABORTED, numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Quotes and mentions in every type and kind of chat; edits of sent messages. */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const bytes = Buffer.from('a file');
const finished = {
  file: 'f',
  mimetype: 'image/webp',
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  filename: null,
};
const media = {};
const option = (label: string) => ({ id: label, label });
const interactive = { body: 'Which?', buttons: [{ type: 'reply' as const, label: 'A', id: 'a' }] };
const list = {
  body: 'Which?',
  list: { button: 'Open', sections: [{ title: 'All', rows: [{ id: 'a', title: 'A' }] }] },
};

const TYPES: [string, OutboundContent, string][] = [
  ['text', { type: 'text', text: { body: 'hi' } }, 'extendedTextMessage'],
  ['image', { type: 'image', image: { media }, finished }, 'imageMessage'],
  ['video', { type: 'video', video: { media }, finished }, 'videoMessage'],
  ['document', { type: 'document', document: { media }, finished }, 'documentMessage'],
  ['audio', { type: 'audio', audio: { media, voice: true }, finished }, 'audioMessage'],
  ['sticker', { type: 'sticker', sticker: { media }, finished }, 'stickerMessage'],
  ['location', { type: 'location', location: { latitude: 1, longitude: 2 } }, 'locationMessage'],
  ['contact', { type: 'contact', contact: { name: 'Bia', phones: ['5511999990000'] } }, 'contactMessage'],
  ['interactive', { type: 'interactive', interactive }, 'interactiveMessage'],
  [
    'legacy buttons',
    { type: 'interactive', interactive: { ...interactive, format: 'legacy' } },
    'buttonsMessage',
  ],
  ['older list', { type: 'interactive', interactive: { ...list, format: 'legacy' } }, 'listMessage'],
  [
    'poll',
    { type: 'poll', poll: { name: 'Which?', options: [option('A'), option('B')], selectable: 1 } },
    'pollCreationMessageV3',
  ],
];

const quoted = (more: Partial<QuotedMessage> = {}): QuotedMessage => ({
  wa_message_id: '3EB0Q',
  chat: stage.ana.jid,
  from_me: false,
  participant: null,
  type: 'text',
  text: 'before',
  ...more,
});

async function sent(chat: string, content: OutboundContent, more: Partial<ClaimedMessage> = {}) {
  const { number, ana } = stage;
  const message = number.message(chat, content, more);
  number.rows.files.set(message.message_id, () => Readable.from([bytes]));
  const { id } = await number.send(message);
  return (await ana.receives({ id })).message as Record<string, Record<string, unknown>>;
}

describe.each(TYPES)('a message of type %s', (_type, content, field) => {
  test('carries a quote, and mentions by phone number and by LID', async () => {
    const mentions = ['5511900000002', '+5511900000003', '77@lid'];
    const message = await sent(stage.ana.jid, { ...content, mentions }, { quoted: quoted() });
    expect(message[field]!['contextInfo']).toEqual({
      stanzaId: '3EB0Q',
      participant: stage.ana.jid,
      quotedMessage: { conversation: 'before' },
      mentionedJid: [stage.ana.jid, '5511900000003@s.whatsapp.net', '77@lid'],
    });
  });

  test('carries neither when it has none', async () => {
    expect((await sent(stage.ana.jid, content))[field]).not.toHaveProperty('contextInfo');
  });
});

describe('a quote of', () => {
  const contextOf = async (chat: string, more: Partial<QuotedMessage>) => {
    const text: OutboundContent = { type: 'text', text: { body: 'yes' } };
    return (await sent(chat, text, { quoted: quoted(more) }))['extendedTextMessage']!['contextInfo'];
  };
  const base = { stanzaId: '3EB0Q', quotedMessage: { conversation: 'before' } };

  test('our own message names us', async () => {
    const { ana, phone } = stage;
    expect(await contextOf(ana.jid, { from_me: true })).toEqual({ ...base, participant: phone.jid });
  });

  test("a group member's message names the member", async () => {
    const { ana } = stage;
    expect(await contextOf(group, { chat: group, participant: ana.lidJid })).toEqual({
      ...base,
      participant: ana.lidJid,
    });
  });

  test('a message in another chat names the chat', async () => {
    const { ana } = stage;
    expect(await contextOf(ana.jid, { chat: group, participant: ana.lidJid })).toEqual({
      ...base,
      participant: ana.lidJid,
      remoteJid: group,
    });
  });

  test('a text that is no longer stored is shown as …', async () => {
    const context = await contextOf(stage.ana.jid, { text: '' });
    expect(context).toMatchObject({ stanzaId: '3EB0Q', quotedMessage: { conversation: '…' } });
  });
});

describe('a quote shows', () => {
  const jpegThumbnail = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(900, 5)]).toString(
    'base64',
  );
  const film = { mimetype: 'video/mp4', seconds: 12, width: 640, height: 480, jpegThumbnail };
  const poll = { options: [{ optionName: 'A' }, { optionName: 'B' }], selectableOptionsCount: 1 };
  /** Replies to a message with its text, and after its text was deleted. */
  async function quotesOf(chat: string, of: Partial<QuotedMessage>, text: string) {
    const contents = [text, ''].map((stored) => ({ quoted: quoted({ ...of, text: stored }) }));
    const reply: OutboundContent = { type: 'text', text: { body: 'yes' } };
    const [withText, without] = await Promise.all(contents.map((more) => sent(chat, reply, more)));
    const shown = (message: Record<string, Record<string, unknown>>) =>
      (message['extendedTextMessage']!['contextInfo'] as Record<string, unknown>)['quotedMessage'];
    return [shown(withText!), shown(without!)];
  }

  test.each<[string, Record<string, unknown>, object]>([
    ['a received film with its picture', { videoMessage: { ...film, caption: 'before' } }, { videoMessage: { ...film, caption: 'before' } }],
    ['the seconds of a received voice message', { audioMessage: { seconds: 4, ptt: true } }, { audioMessage: { seconds: 4, ptt: true } }],
    ['the name of a received document', { documentMessage: { fileName: 'a.pdf', caption: 'before' } }, { documentMessage: { fileName: 'a.pdf', caption: 'before' } }],
    ['the question of a received poll', { pollCreationMessageV3: { name: 'before', ...poll } }, { pollCreationMessageV3: { name: 'before', selectableOptionsCount: 1 } }],
    ['a received picture to view once, without its thumbnail', { imageMessage: { viewOnce: true, jpegThumbnail } }, { imageMessage: { viewOnce: true } }],
  ])('%s', async (_, message, shown) => {
    const { number, ana, phone } = stage;
    const { type, text, card } = await number.gets(await ana.writes(message, { to: phone.number }));
    const [withText, without] = await quotesOf(ana.jid, { type, ...(card && { card }) }, text ?? '');
    expect(withText).toEqual(shown);
    expect(Object.keys(without as object)).toEqual(Object.keys(shown));
  }); // prettier-ignore

  test.each(TYPES.filter(([type]) => type !== 'text'))(
    'an own message of type %s in its type',
    async (_, content, field) => {
      const { number, ana } = stage;
      const given = content.finished
        ? {
            ...content,
            finished: { ...content.finished, thumbnail: jpegThumbnail, duration_s: 5, filename: 'f.bin' },
          }
        : content;
      const message = number.message(ana.jid, given);
      number.rows.files.set(message.message_id, () => Readable.from([bytes]));
      const { card } = await number.driver.build(message);
      const [, without] = await quotesOf(
        ana.jid,
        { from_me: true, type: content.type, card: card!.toString('base64') },
        '',
      );
      const own = (without as Record<string, Record<string, unknown>>)[field]!;
      if (['imageMessage', 'videoMessage'].includes(field)) expect(own['jpegThumbnail']).toBe(jpegThumbnail);
      if (field === 'documentMessage') expect(own).toMatchObject({ fileName: 'f.bin' });
      if (field === 'audioMessage') expect(own).toMatchObject({ seconds: 5, ptt: true });
      for (const key of ['mediaKey', 'url', 'directPath']) expect(own).not.toHaveProperty(key);
    },
  );
});

test('a quote of our own message in a group names our LID', async () => {
  const content: OutboundContent = { type: 'text', text: { body: 'yes' } };
  const message = await sent(group, content, { quoted: quoted({ chat: group, from_me: true }) });
  expect(message['extendedTextMessage']).toMatchObject({ contextInfo: { participant: stage.phone.lidJid } });
});

describe('a mention in a group', () => {
  test.each(
    TYPES.filter(([, content]) => content.text ?? content.poll ?? content.interactive ?? content.image),
  )('by phone number names the LID of the member in a message of type %s', async (_, content, field) => {
    const { number, lid, lidJid } = stage.ana;
    const marked = JSON.parse(
      JSON.stringify(content, (key, value: unknown) =>
        ['body', 'name'].includes(key) ? `@${number}` : value,
      ),
    ) as OutboundContent;
    if (marked.image) marked.image.caption = `@${number}`;
    const message = (await sent(group, { ...marked, mentions: [number] }))[field]!;
    expect(message).toMatchObject({ contextInfo: { mentionedJid: [lidJid] } });
    expect(JSON.stringify(message)).toContain(`"@${lid}`);
    expect(JSON.stringify(message)).not.toContain(number);
  });

  test.each([
    ['the LID where the network hides phone numbers', { showsPhones: false }, () => stage.ana.number, 'lid'],
    ['the phone number where the group uses them', { addressing: 'pn' }, () => stage.ana.lid, 'number'],
  ] as const)('names %s', async (_, settings, given, shown) => {
    const { network, phone, ana } = stage;
    const other = await network.group('Other', [phone, ana], settings);
    const mention = shown === 'lid' ? ana.number : ana.lidJid;
    const content: OutboundContent = { type: 'text', text: { body: `@${given()}` }, mentions: [mention] };
    const message = await sent(other, content, { quoted: quoted({ chat: other, from_me: true }) });
    expect(message['extendedTextMessage']).toMatchObject({
      text: `@${ana[shown]}`,
      contextInfo: {
        mentionedJid: [shown === 'lid' ? ana.lidJid : ana.jid],
        participant: shown === 'lid' ? phone.lidJid : phone.jid,
      },
    });
  });

  test('names everybody but ourselves', async () => {
    const content: OutboundContent = { type: 'text', text: { body: 'hi' }, mentions: ['all'] };
    expect((await sent(group, content))['extendedTextMessage']).toEqual({
      ...{ text: 'hi', contextInfo: { mentionedJid: [stage.ana.lidJid] } },
    });
  });

  test('of somebody who is not a member fails the message', async () => {
    const content: OutboundContent = { type: 'text', text: { body: 'hi' }, mentions: ['5511988887777'] };
    const failure = { code: 'wa_error', text: 'mentions.0 is not a member of the group', retriable: false };
    await expect(sent(group, content)).rejects.toMatchObject(failure);
  });

  test('and the quote stay in an edit', async () => {
    const { number, ana } = stage;
    const { id } = await number.sendText(group, 'first');
    const stanza_id = '3EB0C0FFEE00000000DD';
    const message = { chat: group, wa_message_id: id, from_me: true, participant: null };
    const references = {
      mentions: [ana.number, '5511988887777'],
      quoted: quoted({ chat: group, from_me: true }),
    };
    const edit = { kind: 'edit' as const, stanza_id, message, text: `second @${ana.number}`, ...references };
    await number.driver.edit(edit, { mayWrite: () => true, signal: NEVER_ABORTED });
    const { editedMessage } = (await ana.receives({ id: stanza_id })).message!['protocolMessage'] as Record<
      string,
      unknown
    >;
    expect(editedMessage).toEqual({
      extendedTextMessage: {
        text: `second @${ana.lid}`,
        contextInfo: {
          ...{
            stanzaId: '3EB0Q',
            participant: stage.phone.lidJid,
            quotedMessage: { conversation: 'before' },
          },
          mentionedJid: [ana.lidJid],
        },
      },
    });
  });
});

test('a mention in a group names the member', async () => {
  const content: OutboundContent = { type: 'text', text: { body: '@ana' }, mentions: [stage.ana.lidJid] };
  const message = await sent(group, content);
  expect(message['extendedTextMessage']).toEqual({
    text: '@ana',
    contextInfo: { mentionedJid: [stage.ana.lidJid] },
  });
});

describe.each([
  ['of a contact', () => stage.ana.jid],
  ['of a group', () => group],
])('a message sent in the chat %s is', (_chat, chat) => {
  const given = () => ({ mayWrite: () => true, signal: NEVER_ABORTED });
  let last = 0;
  const newId = () => `3EB0C0FFEE${String(++last).padStart(8, '0')}${chat() === group ? 'AA' : 'BB'}`;

  async function changed(change: (id: string) => Parameters<typeof stage.number.driver.edit>[0]) {
    const { number, ana } = stage;
    const { id } = await number.sendText(chat(), 'first');
    await ana.receives({ id });
    const made = change(id);
    await number.driver.edit(made, given());
    return { id, received: await ana.receives({ id: made.stanza_id }) };
  }
  const ours = (id: string) => ({ chat: chat(), wa_message_id: id, from_me: true, participant: null });

  test('edited', async () => {
    const { id, received } = await changed((of) => ({
      kind: 'edit',
      stanza_id: newId(),
      message: ours(of),
      text: 'second',
    }));
    expect(received.attributes).toMatchObject({ edit: '1' });
    expect(received.message).toMatchObject({
      protocolMessage: {
        key: { remoteJid: chat(), id, fromMe: true },
        type: 'MESSAGE_EDIT',
        editedMessage: { conversation: 'second' },
      },
    });
  });

  test('deleted', async () => {
    const { id, received } = await changed((of) => ({
      kind: 'delete',
      stanza_id: newId(),
      message: ours(of),
    }));
    expect(received.attributes).toMatchObject({ edit: '7' });
    expect(received.message).toMatchObject({
      protocolMessage: { key: { remoteJid: chat(), id, fromMe: true }, type: 'REVOKE' },
    });
  });

  test.each([
    ['reacted to', '👍'],
    ['freed of a reaction', ''],
  ])('%s', async (_, emoji) => {
    const { id, received } = await changed((of) => ({
      kind: 'react',
      stanza_id: newId(),
      message: ours(of),
      emoji,
    }));
    expect(received.message).toMatchObject({
      reactionMessage: { key: { remoteJid: chat(), id, fromMe: true }, text: emoji },
    });
  });
});

test("a reaction to a group member's message names the member", async () => {
  const { number, ana } = stage;
  const wrote = await ana.writes('in the group', { to: group });
  const { from } = await number.gets(wrote);
  const message = { chat: group, wa_message_id: wrote, from_me: false, participant: from };
  const stanza_id = '3EB0C0FFEE00000000CC';
  const given = { mayWrite: () => true, signal: NEVER_ABORTED };
  await number.driver.edit({ kind: 'react', stanza_id, message, emoji: '❤' }, given);
  expect((await ana.receives({ id: stanza_id })).message).toMatchObject({
    reactionMessage: { key: { remoteJid: group, id: wrote, fromMe: false, participant: from }, text: '❤' },
  });
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});

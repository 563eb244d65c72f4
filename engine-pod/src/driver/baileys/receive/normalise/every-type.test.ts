import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { proto } from '@whiskeysockets/baileys';
import { InboundMessage } from '@gwk/core/protocol/inbound';
import { parseContent } from './content.js';
import { decodeEnvelope } from './envelope.js';

/** Every field of the message in the protobuf of the pinned Baileys. */
const source = readFileSync(
  createRequire(import.meta.url).resolve('@whiskeysockets/baileys/WAProto/WAProto.proto'),
  'utf8',
);
const [definition = ''] = /^message Message \{$[\s\S]*?^\}$/m.exec(source) ?? [];
const FIELDS = [...definition.matchAll(/^ {4}optional ([\w.]+) (\w+) = (\d+);$/gm)].map(
  ([, type, name]) => [name!, type!] as const,
);

const own = { jid: '5511900000001@s.whatsapp.net', lid: '1@lid' };
const attrs = { id: '3EB0', from: '5511900000002@s.whatsapp.net', t: '1', notify: 'Ana' };
const inner = {
  extendedTextMessage: { text: 'inside', contextInfo: { stanzaId: '3EB0Q', isForwarded: true } },
};

/** The event of a message, as the engine reports it. Null: none. */
function report(content: proto.IMessage | Uint8Array): Partial<InboundMessage> | null {
  const encoded =
    content instanceof Uint8Array
      ? content
      : proto.Message.encode(proto.Message.fromObject(content)).finish();
  const plaintext = Buffer.concat([encoded, Buffer.from([1])]);
  const envelope = decodeEnvelope({ attrs, plaintext, order: 1 }, own)!;
  const parsed = parseContent(envelope.content, { ...envelope, own });
  if (!parsed) return null;
  const message = {
    wa_message_id: '3EB0',
    chat: envelope.chat,
    from: envelope.from,
    from_name: envelope.name,
  };
  return InboundMessage.parse({ ...message, from_me: false, at: envelope.at.toISOString(), ...parsed });
}

/** Content that changes an earlier message, or that no app shows; docs/receiving.md names them. */
const SILENT = [
  'senderKeyDistributionMessage', 'fastRatchetKeySenderKeyDistributionMessage', 'messageContextInfo', 'protocolMessage',
  'stickerSyncRmrMessage', 'encReactionMessage', 'pollUpdateMessage',
  'secretEncryptedMessage', 'albumMessage', 'messageHistoryBundle', 'messageHistoryNotice',
]; // prettier-ignore

test('the protobuf has the types that this test goes through', () => {
  expect(FIELDS.length).toBe(95);
  // The definition and the code that decodes messages are two files.
  const decoded = Object.entries(proto.Message.prototype as object).filter(
    ([, value]) => typeof value !== 'function',
  );
  expect(decoded.map(([name]) => name).sort()).toEqual(FIELDS.map(([name]) => name).sort());
  expect(FIELDS.map(([name]) => name)).toEqual(expect.arrayContaining(SILENT));
});

describe('message.received of', () => {
  test.each(FIELDS)('%s', (name, type) => {
    const content = fill(name, type);
    const message = report({ [name]: content });
    if (SILENT.includes(name)) return expect(message).toBeNull();
    if (name === 'reactionMessage') return expect(message).toMatchObject({ change: { kind: 'reaction' } });
    expect(message).not.toBeNull();
    if (type === 'FutureProofMessage' || name === 'deviceSentMessage')
      expect(message).toMatchObject({ text: 'inside', quoted_wa_message_id: '3EB0Q', is_forwarded: true });
    else if (message!.type === 'other') expect(message!.kind).toMatch(/^[a-z_]+$/);
  });

  /** The least content, with a quote where the type has one. */
  function fill(name: string, type: string): unknown {
    if (type === 'string') return 'text';
    if (type === 'FutureProofMessage' || name === 'deviceSentMessage') return { message: inner };
    if (name === 'reactionMessage') return { key: { id: '3EB0OLD' }, text: '👍' };
    return { contextInfo: { stanzaId: '3EB0Q', isForwarded: true } };
  }
});

test('content with a quote and a forwarded mark keeps both, whatever its type', () => {
  const holders = FIELDS.filter(([name, type]) => {
    const short = type.replace(/^Message\./, '');
    const [body = ''] =
      new RegExp(`^ {4}message ${short} \\{$[\\s\\S]*?^ {4}\\}$`, 'm').exec(definition) ?? [];
    return !SILENT.includes(name) && /^ {8}optional ContextInfo contextInfo/m.test(body);
  });
  expect(holders.length).toBeGreaterThan(25);
  for (const [name] of holders) {
    const message = report({ [name]: { contextInfo: { stanzaId: '3EB0Q', isForwarded: true } } });
    expect([name, message]).toMatchObject([name, { quoted_wa_message_id: '3EB0Q', is_forwarded: true }]);
  }
});

const note = { noteMessage: inner };
test.each<[string, proto.IMessage, string, string | null]>([
  ['an order', { orderMessage: { message: 'two, please', orderTitle: 'Shop' } }, 'order', 'two, please'],
  ['a product', { productMessage: { product: { title: 'Cake' } } }, 'product', 'Cake'],
  ['an invoice', { invoiceMessage: { note: 'n' } }, 'invoice', 'n'],
  ['a payment', { sendPaymentMessage: note }, 'payment', 'inside'],
  ['a request for a payment', { requestPaymentMessage: note }, 'payment_request', 'inside'],
  ['an invitation', { groupInviteMessage: { groupName: 'G', caption: 'join' } }, 'invitation', 'join'],
  ['an event', { eventMessage: { name: 'Party' } }, 'event', 'Party'],
  ['a comment', { commentMessage: { message: inner } }, 'comment', 'inside'],
  ['a status of a group', { groupStatusMessageV2: { message: inner } }, 'group_status', 'inside'],
])('%s has its kind and its text', (_, message, kind, text) => {
  expect(report(message)).toMatchObject({ kind, text });
});

describe('content that the protobuf does not know', () => {
  const field = (number: number, payload: Uint8Array) => {
    const writer = proto.Message.encode({}).uint32((number << 3) | 2);
    return writer.bytes(payload).finish();
  };
  const wrapped = (message: proto.IMessage) =>
    proto.Message.encode(proto.Message.fromObject(message)).finish();
  const unknownWrapper = (payload: Uint8Array) => field(900, field(1, payload));

  test('an unknown wrapper is opened', () => {
    expect(report(unknownWrapper(wrapped(inner)))).toMatchObject({
      type: 'text',
      text: 'inside',
      is_forwarded: true,
    });
  });

  test('also in other unknown wrappers, in known ones, and beside other fields', () => {
    const twice = unknownWrapper(unknownWrapper(wrapped(inner)));
    const ephemeral = field(40, field(1, twice));
    const sent = Buffer.concat([wrapped({ messageContextInfo: {} }), field(31, field(2, ephemeral))]);
    for (const bytes of [twice, ephemeral, sent]) expect(report(bytes)).toMatchObject({ text: 'inside' });
  });

  test('a picture for one look in it is marked', () => {
    const image = wrapped({ viewOnceMessageV2: { message: { imageMessage: { caption: 'c' } } } });
    expect(report(unknownWrapper(image))).toMatchObject({ type: 'image', text: 'c', is_view_once: true });
  });

  test.each([
    ['an unknown type', field(900, field(2, Buffer.from('x')))],
    ['an unknown type that is no message', field(901, Buffer.from('what'))],
    ['an unknown type in a wrapper', unknownWrapper(field(902, Buffer.from('what')))],
    [
      'unknown wrappers without an end',
      Array.from({ length: 40 }).reduce<Uint8Array>(unknownWrapper, Buffer.of()),
    ],
  ])('%s is reported as such', (_, bytes) => {
    expect(report(bytes)).toMatchObject({ type: 'other', text: null, kind: 'unknown' });
  });

  test.each([
    ['nothing', Buffer.of()],
    ['a key', wrapped({ senderKeyDistributionMessage: { groupId: 'x' } })],
    ['an unknown number', Buffer.of(0x80, 0x40, 1)],
  ])('%s is not', (_, bytes) => {
    expect(report(bytes)).toBeNull();
  });
});

describe('facts about the content', () => {
  const text = (contextInfo: proto.IContextInfo) =>
    report({ extendedTextMessage: { text: 'x', contextInfo } });

  test('a picture for one look, in a disappearing message, from another device', () => {
    const message = {
      deviceSentMessage: {
        message: {
          messageContextInfo: { messageSecret: Buffer.alloc(32, 1) },
          ephemeralMessage: {
            message: {
              viewOnceMessageV2: {
                message: { imageMessage: { contextInfo: { expiration: 86_400 }, caption: 'c' } },
              },
            },
          },
        },
      },
    };
    expect(report(message)).toMatchObject({
      type: 'image',
      text: 'c',
      is_view_once: true,
      expires_in_s: 86_400,
    });
  });

  test('a voice message for one look', () => {
    expect(report({ audioMessage: { viewOnce: true } })).toMatchObject({ type: 'audio', is_view_once: true });
  });

  test.each<[string, proto.IContextInfo, object | undefined]>([
    ['a message here', { participant: '2:3@lid' }, { author: '2@lid' }],
    ['a message here, named', { remoteJid: attrs.from, participant: own.jid }, { author: own.jid }],
    ['a message here, from the other side', { remoteJid: own.lid }, undefined],
    ['a message of a list', { remoteJid: '123@broadcast', participant: '2@lid' }, { author: '2@lid' }],
    [
      'a status',
      { remoteJid: 'status@broadcast', participant: own.jid },
      { author: own.jid, chat: 'status@broadcast' },
    ],
    [
      'a message of a group',
      { remoteJid: '1-2@g.us', participant: '2@lid' },
      { author: '2@lid', chat: '1-2@g.us' },
    ],
  ])('a quote of %s', (_, context, quoted) => {
    const message = text({ stanzaId: '3EB0Q', ...context });
    expect(message).toMatchObject({ quoted_wa_message_id: '3EB0Q' });
    expect(message!.quoted).toEqual(quoted);
  });

  test.each<[string, proto.IContextInfo, boolean | undefined]>([
    ['by phone number', { mentionedJid: ['7@lid', '5511900000001@s.whatsapp.net'] }, true],
    ['by LID', { mentionedJid: ['1@lid'] }, true],
    ['of everybody', { nonJidMentions: 1 }, true],
    ['of others', { mentionedJid: ['7@lid'] }, undefined],
  ])('a mention %s', (_, context, mentioned) => {
    expect(text(context)!.mentions_me).toBe(mentioned);
  });

  test('the album of a picture', () => {
    const messageAssociation = { associationType: 1, parentMessageKey: { id: '3EB0ALBUM' } };
    const child = { imageMessage: { caption: 'c' }, messageContextInfo: { messageAssociation } };
    for (const message of [child, { associatedChildMessage: { message: child } }])
      expect(report(message)).toMatchObject({ type: 'image', album_id: '3EB0ALBUM' });
  });

  test('the advertisement, without its pictures', () => {
    const message = text({
      conversionSource: 'FB_Ads',
      conversionData: Buffer.from('abc'),
      ctwaPayload: Buffer.from([255, 254]),
      externalAdReply: {
        title: 'Cakes',
        body: 'b'.repeat(9_000),
        mediaType: 2,
        mediaUrl: 'https://example.com/v',
        thumbnail: Buffer.alloc(1_000_000, 1),
        thumbnailUrl: 'https://example.com/t',
        sourceType: 'ad',
        sourceId: '120',
        sourceUrl: 'https://fb.me/x',
        ctwaClid: 'clid',
      },
    });
    expect(message!.referral).toEqual({
      source_type: 'ad',
      source_id: '120',
      source_url: 'https://fb.me/x',
      headline: 'Cakes',
      body: `${'b'.repeat(4_095)}…`,
      media_type: 'video',
      media_url: 'https://example.com/v',
      thumbnail_url: 'https://example.com/t',
      ctwa_clid: 'clid',
      conversion_source: 'FB_Ads',
      conversion_data: 'YWJj',
      ctwa_payload: '//4=',
    });
  });

  test('a preview of a link is no advertisement', () => {
    expect(text({ externalAdReply: { title: 'Page', body: 'b' } })).not.toHaveProperty('referral');
  });

  test('a live location with its caption', () => {
    const live = { degreesLatitude: 1, degreesLongitude: NaN, caption: 'here I come' };
    expect(report({ liveLocationMessage: live })).toMatchObject({
      type: 'location',
      text: 'here I come',
      location: { latitude: 1, longitude: 0, is_live: true },
    });
  });

  test('what was cut off', () => {
    const vcard = 'BEGIN:VCARD\nFN:A\nTEL:+1\nEND:VCARD\n';
    expect(report({ conversation: `${'x'.repeat(65_535)}😀` })).toMatchObject({
      text: `${'x'.repeat(65_535)}…`,
      is_truncated: true,
    });
    const many = { contactsArrayMessage: { contacts: Array.from({ length: 301 }, () => ({ vcard })) } };
    expect(report(many)!.contacts).toHaveLength(300);
    expect(report(many)).toMatchObject({ is_truncated: true });
    expect(report({ contactMessage: { vcard: vcard.repeat(3) } })!.contacts).toHaveLength(3);
    expect(report({ conversation: 'x'.repeat(65_536) })).not.toHaveProperty('is_truncated');
  });

  test('no name', () => {
    expect(report({ contactMessage: { displayName: '', vcard: '' } })!.contacts).toEqual([
      { name: null, phones: [] },
    ]);
  });
});

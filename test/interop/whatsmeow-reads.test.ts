import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { QuotedMessage, ClaimedMessage } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Person } from '@gwk/network/control/client';
import { numberStage, type NumberStage } from '../support/engine/simulated-instance.js';
import { buildGoClient, GoClient, hasGo, type Fact } from './whatsmeow-client.js';

const mustRun = process.env.CI === 'true';
const proof = hasGo || mustRun ? describe : describe.skip;

// An independent client reads what gwk sends: whatsmeow, linked to the number of a contact.
proof(
  hasGo
    ? 'a client on whatsmeow that reads gwk'
    : 'a client on whatsmeow that reads gwk (needs Go, which is not installed here)',
  () => {
    let stage: NumberStage;
    let bia: Person;
    let client: GoClient;

    beforeAll(async () => {
      if (!hasGo) throw new Error('CI requires Go: the test with an independent client must not be skipped');
      const program = await buildGoClient();
      stage = await numberStage();
      bia = await stage.network.contact('5511900000009', { name: 'Bia' });
      client = new GoClient(program, stage.running);
      await bia.scan((await client.says('qr')).code as string);
      await client.says('connected');
    });

    afterAll(async () => {
      await client?.stop();
      await stage?.close();
    });

    const DAY = 86_400;
    const SET_AT = 1_000_000_000_000;
    const TYPES: [string, OutboundContent][] = [
      ['text', { type: 'text', text: { body: 'hi' } }],
      ['location', { type: 'location', location: { latitude: 1, longitude: 2 } }],
      [
        'poll',
        {
          type: 'poll',
          poll: { name: 'Which?', selectable: 1, options: ['A', 'B'].map((label) => ({ id: label, label })) },
        },
      ],
      [
        'menu',
        {
          type: 'interactive',
          interactive: { body: 'Which?', buttons: [{ type: 'reply', label: 'A', id: 'a' }] },
        },
      ],
    ];
    const quoteOf = (more: Partial<QuotedMessage>): QuotedMessage => ({
      ...{ wa_message_id: '3EB0Q', chat: bia.jid, from_me: false, participant: bia.jid },
      ...{ type: 'image', text: 'before' },
      ...more,
    });

    /** The key of a group comes as a message of its own, without content. */
    const hasContent = ({ text, context }: Fact) => text !== '' || context !== undefined;

    const isContent = ({ fields }: Fact) =>
      (fields as string[]).some(
        (name) => !['messageContextInfo', 'senderKeyDistributionMessage'].includes(name),
      );

    /** Sends a message, and returns its context as the client reads it. */
    async function readContext(chat: string, content: OutboundContent, more: Partial<ClaimedMessage>) {
      const { number } = stage;
      const { id } = await number.send(number.message(chat, content, more));
      return (await client.says('message', (fact) => fact.id === id && hasContent(fact))).context;
    }

    it('reads no context in a message without timer, quote and mentions', async () => {
      expect(await readContext(bia.jid, { type: 'text', text: { body: 'plain' } }, {})).toBeUndefined();
    });

    it('the contact turns disappearing messages on', async () => {
      const message = { protocolMessage: { type: 'EPHEMERAL_SETTING', ephemeralExpiration: DAY } };
      const id = await bia.writes(message, { to: stage.phone.number });
      expect((await stage.number.gets(id)).timer).toMatchObject({ seconds: DAY });
    });

    it.each(TYPES)('reads timer, quote and mentions in a direct chat: %s', async (_, content) => {
      for (const chat of [bia.jid, bia.lidJid])
        expect(
          await readContext(
            chat,
            { ...content, mentions: [bia.number] },
            {
              quoted: quoteOf({ chat }),
              timer: { seconds: DAY, set_at: new Date(SET_AT).toISOString() },
            },
          ),
        ).toEqual({
          expiration: DAY,
          quotes: '3EB0Q',
          author: bia.jid,
          quoted: ['imageMessage'],
          mentions: [bia.jid],
        });
    });

    it.each(TYPES)('reads timer, quote and mentions in a LID group: %s', async (_, content) => {
      const { network, phone, ana } = stage;
      const group = await network.group('Team', [phone, ana, bia], { expiration: DAY });
      const quoted = quoteOf({ chat: group, from_me: true, participant: null, type: 'text' });
      expect(
        await readContext(group, { ...content, mentions: [bia.number, ana.number] }, { quoted }),
      ).toEqual({
        expiration: DAY,
        quotes: '3EB0Q',
        author: phone.lidJid,
        quoted: ['conversation'],
        mentions: [bia.lidJid, ana.lidJid],
      });
    });

    const bytes = Buffer.from('a file');
    const finished = {
      ...{ file: 'f', mimetype: 'image/jpeg', size: bytes.length, filename: null },
      sha256: createHash('sha256').update(bytes).digest('hex'),
    };
    const media = {};
    const ALBUM = { wa_message_id: '3EB0ALBUM', kind: 'album' } as const;
    const whole = (type: string) => ({ type, id: ALBUM.wa_message_id });

    it.each<[string, OutboundContent, object]>([
      ['an album', { type: 'album', album: { images: 1, videos: 1 } }, { fields: ['albumMessage'] }],
      [
        'a picture of an album',
        { type: 'image', image: { media }, part_of: ALBUM },
        { fields: ['imageMessage', 'messageContextInfo'], whole: whole('MEDIA_ALBUM'), file: 'a file' },
      ],
      [
        'a film of an album',
        { type: 'video', video: { media }, part_of: ALBUM },
        { fields: ['messageContextInfo', 'videoMessage'], whole: whole('MEDIA_ALBUM') },
      ],
      [
        'the HD version of a picture',
        { type: 'image', image: { media, hd: true }, part_of: { ...ALBUM, kind: 'hd' } },
        { whole: whole('HD_IMAGE_DUAL_UPLOAD'), inner: ['imageMessage'] },
      ],
      ['a round video', { type: 'video', video: { media, round: true } }, { fields: ['ptvMessage'] }],
    ])('reads %s in a chat and a group', async (_, content, read) => {
      const { network, phone, number } = stage;
      for (const chat of [bia.lidJid, await network.group('Files', [phone, bia])]) {
        const timer = { seconds: DAY, set_at: new Date(SET_AT).toISOString() };
        const prepared = { ...content, ...(content.album ? {} : { finished }) };
        const message = number.message(chat, prepared, { timer });
        number.rows.files.set(message.message_id, () => Readable.from([bytes]));
        const { id } = await number.send(message);
        const { fields, ...fact } = await client.says('message', (one) => one.id === id && isContent(one));
        expect({ ...fact, fields: (fields as string[]).sort() }).toMatchObject(read);
      }
    });

    it('sees no protocol violation', async () => {
      expect((await stage.network.status()).violations).toEqual([]);
    });
  },
);

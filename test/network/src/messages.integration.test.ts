import {
  decryptPollVote,
  generateMessageIDV2,
  type AnyMessageContent,
  type proto,
} from '@whiskeysockets/baileys';
import { setStage, type Stage } from './testing/stage.js';
import { until } from './testing/stock-client.js';

let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.close());

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const VCARD = 'BEGIN:VCARD\nVERSION:3.0\nFN:Bia\nTEL;waid=5511900000009:+5511900000009\nEND:VCARD';

interface Row {
  sends: string;
  content: AnyMessageContent;
  arrives: Record<string, unknown>;
  stanza?: Record<string, string>;
}

const ROWS: Row[] = [
  {
    sends: 'a text',
    content: { text: 'plain' },
    arrives: { extendedTextMessage: { text: 'plain' } },
    stanza: { type: 'text' },
  },
  {
    sends: 'an image with a caption',
    content: { image: PNG, caption: 'a dot', width: 1, height: 1, jpegThumbnail: PNG.toString('base64') },
    arrives: { imageMessage: { caption: 'a dot', mimetype: 'image/jpeg' } },
    stanza: { type: 'media', mediatype: 'image' },
  },
  {
    sends: 'a document',
    content: { document: Buffer.alloc(70_000, 7), mimetype: 'application/pdf', fileName: 'x.pdf' },
    arrives: { documentMessage: { fileName: 'x.pdf', mimetype: 'application/pdf' } },
    stanza: { type: 'media', mediatype: 'document' },
  },
  {
    sends: 'a voice message',
    content: {
      audio: Buffer.alloc(5000, 1),
      ptt: true,
      seconds: 7,
      waveform: new Uint8Array(64).fill(50),
      mimetype: 'audio/ogg; codecs=opus',
    } as AnyMessageContent,
    arrives: { audioMessage: { ptt: true, seconds: 7 } },
    stanza: { type: 'media', mediatype: 'ptt' },
  },
  {
    sends: 'a place',
    content: { location: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here' } },
    arrives: { locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here' } },
  },
  {
    sends: 'a contact',
    content: { contacts: { displayName: 'Bia', contacts: [{ vcard: VCARD }] } },
    arrives: { contactMessage: { vcard: VCARD } },
  },
  {
    sends: 'a poll',
    content: { poll: { name: 'Which?', values: ['A', 'B'], selectableCount: 1 } },
    arrives: {
      pollCreationMessageV3: { name: 'Which?', options: [{ optionName: 'A' }, { optionName: 'B' }] },
    },
    stanza: { type: 'poll' },
  },
];

describe('a stock client sends, and a phone decrypts', () => {
  for (const { sends, content, arrives, stanza } of ROWS) {
    it(sends, async () => {
      const { client, ana } = stage;
      const { id } = await client.send(ana.jid, content);
      const received = await ana.receives({ id });
      expect(received.message).toMatchObject(arrives);
      expect(received.attributes).toMatchObject(stanza ?? {});
      expect(await client.acked(id)).not.toHaveProperty('error');
    });
  }

  it('a file, which the phone opens', async () => {
    const { client, ana } = stage;
    const bytes = Buffer.from('the file '.repeat(10_000));
    const { id } = await client.send(ana.jid, { document: bytes, mimetype: 'text/plain', fileName: 'a.txt' });
    const received = await ana.receives({ id });
    expect((await ana.opens(received)).equals(bytes)).toBe(true);
  });

  it('an edit, a reaction and a deletion of its message', async () => {
    const { client, ana } = stage;
    const { key, id } = await client.send(ana.jid, { text: 'first' });
    await ana.receives({ id });
    const edited = await client.send(ana.jid, { text: 'second', edit: key });
    expect((await ana.receives({ id: edited.id })).attributes).toMatchObject({ edit: '1' });
    const reaction = await client.send(ana.jid, { react: { text: '👍', key } });
    expect((await ana.receives({ id: reaction.id })).message).toMatchObject({
      reactionMessage: { text: '👍', key: { id } },
    });
    const revoked = await client.send(ana.jid, { delete: key });
    expect((await ana.receives({ id: revoked.id })).attributes).toMatchObject({ edit: '7' });
  });
});

describe('the sender receives', () => {
  it('receipts of delivery, reading and playing', async () => {
    const { client, ana } = stage;
    const { id } = await client.send(ana.jid, { text: 'receipts' });
    const received = await ana.receives({ id });
    const statuses = () =>
      client.changes.filter(({ key }) => key.id === id).map(({ update }) => update.status);
    await until(() => statuses().includes(3) || undefined, 'delivery');
    await ana.reads(received);
    await until(() => statuses().includes(4) || undefined, 'reading');
    await ana.plays(received);
    await until(() => statuses().includes(5) || undefined, 'playing');
  });

  it('no read receipt from a person who disables them', async () => {
    const { client, network } = stage;
    const shy = await network.contact('5511900000003');
    await shy.behaves({ readReceipts: false });
    const { id } = await client.send(shy.jid, { text: 'did you read?' });
    await shy.reads(await shy.receives({ id }));
    const after = await client.send(shy.jid, { text: 'next' });
    await until(() => client.changes.find(({ key }) => key.id === after.id), 'the receipt of the next');
    expect(
      client.changes.filter(({ key }) => key.id === id).map(({ update }) => update.status),
    ).not.toContain(4);
  });
});

describe('a person answers a menu', () => {
  const menus: { name: string; content: proto.IMessage; answer: string; answers: Record<string, unknown> }[] =
    [
      {
        name: 'with native buttons',
        content: {
          interactiveMessage: {
            body: { text: 'Choose' },
            nativeFlowMessage: {
              buttons: [
                { name: 'quick_reply', buttonParamsJson: '{"display_text":"Yes","id":"yes"}' },
                { name: 'quick_reply', buttonParamsJson: '{"display_text":"No","id":"no"}' },
              ],
            },
          },
        },
        answer: 'no',
        answers: { interactiveResponseMessage: { nativeFlowResponseMessage: { paramsJson: '{"id":"no"}' } } },
      },
      {
        name: 'with a native list',
        content: {
          interactiveMessage: {
            body: { text: 'Choose' },
            nativeFlowMessage: {
              buttons: [
                {
                  name: 'single_select',
                  buttonParamsJson:
                    '{"title":"Open","sections":[{"title":"s","rows":[{"id":"r1","title":"One"}]}]}',
                },
              ],
            },
          },
        },
        answer: 'One',
        answers: { interactiveResponseMessage: { nativeFlowResponseMessage: { name: 'menu_options' } } },
      },
      {
        name: 'with legacy buttons',
        content: {
          buttonsMessage: {
            contentText: 'Choose',
            headerType: 1,
            buttons: [{ buttonId: 'b1', buttonText: { displayText: 'B1' }, type: 1 }],
          },
        },
        answer: 'b1',
        answers: { buttonsResponseMessage: { selectedButtonId: 'b1' } },
      },
      {
        name: 'with a legacy list',
        content: {
          listMessage: {
            title: 't',
            description: 'd',
            buttonText: 'Open',
            listType: 1,
            sections: [{ title: 's', rows: [{ rowId: 'r1', title: 'One', description: '' }] }],
          },
        },
        answer: 'r1',
        answers: { listResponseMessage: { singleSelectReply: { selectedRowId: 'r1' } } },
      },
    ];

  for (const { name, content, answer, answers } of menus) {
    it(name, async () => {
      const { client, ana } = stage;
      const messageId = generateMessageIDV2(client.socket.user?.id);
      const biz = { tag: 'biz', attrs: {} };
      await client.socket.relayMessage(ana.jid, content, { messageId, additionalNodes: [biz] });
      const menu = await ana.receives({ id: messageId });
      expect(menu.renderingNodes).toContain('biz');
      const id = await ana.taps(menu, answer);
      const got = await client.gotId(id);
      expect(got.message).toMatchObject(answers);
      expect(Object.values(got.message as Record<string, unknown>)).toContainEqual(
        expect.objectContaining({ contextInfo: expect.objectContaining({ stanzaId: messageId }) as unknown }),
      );
    });
  }

  it('that is a poll, with an encrypted vote', async () => {
    const { client, ana, phone } = stage;
    const sent = await client.send(ana.jid, { poll: { name: 'Q', values: ['A', 'B'], selectableCount: 1 } });
    const poll = await ana.receives({ id: sent.id });
    const got = await client.gotId(await ana.votes(poll, ['B']));
    const vote = got.message?.pollUpdateMessage?.vote;
    const read = decryptPollVote(vote ?? {}, {
      pollCreatorJid: phone.jid,
      pollMsgId: sent.id,
      pollEncKey: sent.message.messageContextInfo?.messageSecret ?? new Uint8Array(),
      voterJid: ana.jid,
    });
    expect(read.selectedOptions).toHaveLength(1);
    await expect(ana.votes(poll, ['C'])).rejects.toThrow('no option "C"');
  });
});

describe('a person writes, and a stock client reads', () => {
  it('an edit, a deletion and a reaction', async () => {
    const { client, ana, phone } = stage;
    const id = await ana.writes('original', { to: phone.number });
    await client.gotId(id);
    await ana.edits(id, 'changed', { to: phone.number });
    const edited = await until(
      () => client.changes.find(({ key, update }) => key.id === id && update.message),
      'the edit',
    );
    expect(edited.update.message?.editedMessage?.message?.conversation).toBe('changed');
    await ana.reacts(id, '❤️', { to: phone.number });
    await until(
      () => client.messages.find(({ message }) => message?.reactionMessage?.text === '❤️'),
      'the reaction',
    );
    await ana.revokes(id, { to: phone.number });
    const revoked = await until(
      () => client.changes.find(({ key, update }) => key.id === id && update.messageStubType),
      'the deletion',
    );
    expect(revoked.update.message).toBeNull();
  });

  it('a message by LID or by phone number, as the sender addresses it', async () => {
    const { client, ana, phone } = stage;
    const byLid = await client.gotId(await ana.writes('by lid', { to: phone.number }));
    expect(byLid.key).toMatchObject({ remoteJid: ana.lidJid, remoteJidAlt: ana.jid });
    const byNumber = await client.gotId(
      await ana.writes('by number', { to: phone.number, options: { addressing: 'pn' } }),
    );
    expect(byNumber.key).toMatchObject({ remoteJid: ana.jid, remoteJidAlt: ana.lidJid });
  });

  it('a file; an expired one after a request to the phone', async () => {
    const { client, ana, phone } = stage;
    const bytes = Buffer.from('picture '.repeat(1000));
    const id = await ana.writesFile('image', bytes, { to: phone.number, fields: { caption: 'look' } });
    const got = await client.gotId(id);
    expect((await client.download(got)).equals(bytes)).toBe(true);

    const gone = await client.gotId(
      await ana.writesFile('image', bytes, { to: phone.number, expired: true }),
    );
    await expect(client.download(gone)).rejects.toThrow();
    const again = await client.socket.updateMediaMessage(gone);
    expect((await client.download(again)).equals(bytes)).toBe(true);
  });

  it('a message that the owner writes on the phone', async () => {
    const { client, ana, phone } = stage;
    const got = await client.gotId(await phone.writesOnPhone(ana.number, 'from the phone'));
    expect(got.key).toMatchObject({ fromMe: true, remoteJid: ana.lidJid });
  });
});

describe('presence', () => {
  it('is recorded when the client types, and sent to it when a person types', async () => {
    const { client, network, ana, phone } = stage;
    await client.socket.sendPresenceUpdate('composing', ana.jid);
    const { stanza } = await network.waitStanza({ way: 'in', tag: 'chatstate' });
    expect(stanza.attrs).toMatchObject({ to: ana.jid });
    const seen: unknown[] = [];
    client.socket.ev.on('presence.update', (update) => seen.push(update));
    await client.socket.sendPresenceUpdate('available');
    await network.waitStanza({ way: 'in', tag: 'presence' });
    await until(() => (seen.length > 0 ? true : void ana.shows('recording', phone.number)), 'the presence');
  });
});

describe('the client checks', () => {
  it('which phone numbers are on the network', async () => {
    const { client, ana } = stage;
    const checked = await client.socket.onWhatsApp(ana.number, '5511999999999');
    expect(checked).toEqual([expect.objectContaining({ jid: ana.jid, exists: true })]);
  });

  it('and has violated no protocol rule and sent no unknown query', async () => {
    const { violations, unhandled } = await stage.network.status();
    expect(violations).toEqual([]);
    expect(unhandled).toEqual([]);
  });
});

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { InteractiveContent } from '@gwk/core/resources/content';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode } from '@gwk/core/states';
import { numberStage, until, type NumberStage } from '../../../testing/number.js';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

const buttons: InteractiveContent = {
  body: 'What would you like?',
  footer: 'Shop',
  buttons: [
    { type: 'reply', label: 'Yes', id: 'yes' },
    { type: 'url', label: 'Site', url: 'https://shop.example' },
    { type: 'call', label: 'Call', phone: '5511999990000' },
  ],
};
const list: InteractiveContent = {
  body: 'Choose',
  list: {
    button: 'Open',
    sections: [{ title: 'All', rows: [{ id: 'r1', title: 'One', description: 'first' }] }],
  },
};
const NUMBERED = 'What would you like?\n\n1. Yes';

interface Row {
  what: string;
  content: OutboundContent;
  mode?: InteractiveMode;
  arrives: Record<string, unknown>;
  stanza?: Record<string, string>;
  rendered?: string;
}

const ROWS: Row[] = [
  {
    what: 'a text with a preview',
    content: {
      type: 'text',
      text: { body: 'see https://a.example' },
      preview: { url: 'https://a.example', title: 'A', description: 'an example', thumbnail: null },
    },
    arrives: {
      extendedTextMessage: {
        text: 'see https://a.example',
        matchedText: 'https://a.example',
        title: 'A',
        description: 'an example',
      },
    },
    stanza: { type: 'text' },
  },
  {
    what: 'a place',
    content: {
      type: 'location',
      location: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Rua 1' },
    },
    arrives: {
      locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here', address: 'Rua 1' },
    },
  },
  {
    what: 'a contact',
    content: {
      type: 'contact',
      contact: { name: 'Bia; Silva', phones: ['+5511999990000'], organization: 'Shop' },
    },
    arrives: {
      contactMessage: {
        displayName: 'Bia; Silva',
        vcard:
          'BEGIN:VCARD\nVERSION:3.0\nN:;Bia\\; Silva;;;\nFN:Bia\\; Silva\nORG:Shop\nTEL;type=CELL;waid=5511999990000:+5511999990000\nEND:VCARD',
      },
    },
    stanza: { type: 'media' },
  },
  {
    what: 'a poll with one choice',
    content: {
      type: 'poll',
      poll: {
        name: 'Which?',
        options: [
          { id: 'a', label: 'A' },
          { id: 'b', label: 'B' },
        ],
        selectable: 1,
      },
    },
    arrives: {
      pollCreationMessageV3: {
        name: 'Which?',
        options: [{ optionName: 'A' }, { optionName: 'B' }],
        selectableOptionsCount: 1,
      },
    },
    stanza: { type: 'poll' },
  },
  {
    what: 'a poll with several',
    content: {
      type: 'poll',
      poll: {
        name: 'Which two?',
        options: [
          { id: 'a', label: 'A' },
          { id: 'b', label: 'B' },
        ],
        selectable: 2,
      },
    },
    arrives: { pollCreationMessage: { name: 'Which two?', selectableOptionsCount: 2 } },
    stanza: { type: 'poll' },
  },
  {
    what: 'buttons in native flow, numbered',
    content: { type: 'interactive', interactive: buttons },
    arrives: {
      interactiveMessage: {
        body: { text: NUMBERED },
        footer: { text: 'Shop' },
        nativeFlowMessage: {
          buttons: [
            { name: 'quick_reply', buttonParamsJson: '{"display_text":"Yes","id":"yes"}' },
            {
              name: 'cta_url',
              buttonParamsJson:
                '{"display_text":"Site","url":"https://shop.example","merchant_url":"https://shop.example"}',
            },
            { name: 'cta_call', buttonParamsJson: '{"display_text":"Call","phone_number":"5511999990000"}' },
          ],
        },
      },
    },
    rendered: 'native_flow_buttons',
  },
  {
    what: 'buttons in native flow, plain',
    content: { type: 'interactive', interactive: buttons },
    mode: 'native',
    arrives: { interactiveMessage: { body: { text: 'What would you like?' } } },
    rendered: 'native_flow_buttons',
  },
  {
    what: 'a list in native flow',
    content: { type: 'interactive', interactive: list },
    mode: 'native',
    arrives: {
      interactiveMessage: {
        body: { text: 'Choose' },
        nativeFlowMessage: {
          buttons: [
            {
              name: 'single_select',
              buttonParamsJson:
                '{"title":"Open","sections":[{"title":"All","rows":[{"id":"r1","title":"One","description":"first"}]}]}',
            },
          ],
        },
      },
    },
    rendered: 'native_flow_list',
  },
  {
    what: 'buttons in the older form',
    content: { type: 'interactive', interactive: { ...buttons, format: 'legacy' } },
    mode: 'native',
    arrives: {
      buttonsMessage: {
        contentText: 'What would you like?\n\nSite: https://shop.example\nCall: 5511999990000',
        footerText: 'Shop',
        buttons: [{ buttonId: 'yes', buttonText: { displayText: 'Yes' } }],
      },
    },
    rendered: 'legacy_buttons',
  },
  {
    what: 'a list in the older form',
    content: { type: 'interactive', interactive: { ...list, format: 'legacy' } },
    mode: 'native',
    arrives: {
      listMessage: {
        description: 'Choose',
        buttonText: 'Open',
        sections: [{ title: 'All', rows: [{ rowId: 'r1', title: 'One', description: 'first' }] }],
      },
    },
    rendered: 'legacy_list',
  },
  {
    what: 'a menu as a text',
    content: { type: 'interactive', interactive: buttons },
    mode: 'text',
    arrives: {
      extendedTextMessage: { text: `${NUMBERED}\nSite: https://shop.example\nCall: 5511999990000\n\nShop` },
    },
    rendered: 'text_menu',
  },
];

describe('a phone reads, as it was meant,', () => {
  test.each(ROWS)('$what', async ({ content, mode, arrives, stanza, rendered }) => {
    const { number, ana } = stage;
    const message = number.message(ana.jid, content, mode && { interactive_mode: mode });
    const { id, rendered_as } = await number.send(message);
    const received = await ana.receives({ id });
    expect(received.message).toMatchObject(arrives);
    expect(received.attributes).toMatchObject(stanza ?? {});
    expect(rendered_as).toBe(rendered ?? null);
  });
});

test.each([
  ['buttons', buttons, ['interactive', 'native_flow']],
  ['an older list', { ...list, format: 'legacy' as const }, ['list']],
])('%s leave with the node without which no app draws them', async (_, interactive, tags) => {
  const { number, ana, network } = stage;
  const { id } = await number.send(number.message(ana.jid, { type: 'interactive', interactive }));
  const entries = await network.stanzas({ tag: 'message', way: 'in' } as never);
  const sent = entries.find(({ stanza }) => stanza.attrs['id'] === id);
  const biz = JSON.stringify(sent?.stanza.content);
  expect(biz).toContain('"tag":"biz"');
  for (const tag of tags) expect(biz).toContain(`"tag":"${tag}"`);
});

describe('a file', () => {
  const bytes = Buffer.from('the file '.repeat(20_000));
  const finished = {
    file: 'f',
    mimetype: 'application/pdf',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    filename: 'a.pdf',
  };
  const media = {};
  const FILES: [string, OutboundContent, Record<string, unknown>][] = [
    [
      'a document',
      { type: 'document', document: { media, caption: 'read' }, finished },
      { documentMessage: { caption: 'read', fileName: 'a.pdf', mimetype: 'application/pdf' } },
    ],
    [
      'an image',
      {
        type: 'image',
        image: { media, caption: 'look' },
        finished: { ...finished, mimetype: 'image/jpeg', width: 10, height: 20, thumbnail: 'AAAA' },
      },
      {
        imageMessage: {
          caption: 'look',
          width: 10,
          height: 20,
          mimetype: 'image/jpeg',
          jpegThumbnail: 'AAAA',
        },
      },
    ],
    [
      'a video',
      { type: 'video', video: { media }, finished: { ...finished, mimetype: 'video/mp4', duration_s: 4.4 } },
      { videoMessage: { seconds: 4, mimetype: 'video/mp4' } },
    ],
    [
      'a voice message',
      {
        type: 'audio',
        audio: { media, voice: true },
        finished: {
          ...finished,
          mimetype: 'audio/ogg; codecs=opus',
          duration_s: 7.2,
          waveform: Buffer.alloc(64, 50).toString('base64'),
        },
      },
      { audioMessage: { ptt: true, seconds: 7, waveform: Buffer.alloc(64, 50).toString('base64') } },
    ],
    [
      'a sticker',
      {
        type: 'sticker',
        sticker: { media },
        finished: { ...finished, mimetype: 'image/webp', animated: true },
      },
      { stickerMessage: { isAnimated: true, mimetype: 'image/webp' } },
    ],
  ];

  test.each(FILES)('%s arrives whole', async (_, content, arrives) => {
    const { number, ana } = stage;
    const message = number.message(ana.jid, content);
    number.rows.files.set(message.message_id, () =>
      Readable.from([bytes.subarray(0, 1_000), bytes.subarray(1_000)]),
    );
    const { id } = await number.send(message);
    const received = await ana.receives({ id });
    expect(received.message).toMatchObject(arrives);
    expect((await ana.opens(received)).equals(bytes)).toBe(true);
  });

  test('that is gone, or is not what was finished, fails the message', async () => {
    const { number, ana } = stage;
    const gone = number.message(ana.jid, FILES[0]![1]);
    await expect(number.send(gone)).rejects.toMatchObject({ code: 'media_unavailable', certain: true });
    number.rows.files.set(gone.message_id, () => Readable.from([Buffer.from('another file')]));
    await expect(number.send(gone)).rejects.toMatchObject({ code: 'media_unavailable', certain: true });
  });
});

test('mentions and a quoted message are in their place', async () => {
  const { number, ana } = stage;
  const quoted = {
    wa_message_id: '3EB0Q',
    chat: ana.jid,
    from_me: false,
    participant: null,
    type: 'text',
    text: 'before',
  };
  const content: OutboundContent = {
    type: 'text',
    text: { body: '@5511900000002 yes' },
    mentions: ['5511900000002'],
  };
  const { id } = await number.send(number.message(ana.jid, content, { quoted }));
  expect((await ana.receives({ id })).message).toMatchObject({
    extendedTextMessage: {
      contextInfo: {
        stanzaId: '3EB0Q',
        participant: ana.jid,
        quotedMessage: { conversation: 'before' },
        mentionedJid: [ana.jid],
      },
    },
  });
});

test('the same message built once and sent twice is shown once', async () => {
  const { number, ana } = stage;
  const message = number.message(ana.jid, { type: 'text', text: { body: 'once' } });
  const { bytes } = await number.driver.build(message);
  const stanza = {
    waMessageId: message.wa_message_id,
    chat: ana.jid,
    bytes,
    mayWrite: () => true,
    signal: AbortSignal.timeout(10_000),
  };
  await number.driver.send(stanza);
  await number.driver.send(stanza);
  expect(await ana.inbox({ text: 'once' })).toHaveLength(1);
});

describe('the network says no:', () => {
  test.each(['463', '479', '405'])('%s is not tried again', async (code) => {
    const { number, ana, network } = stage;
    await network.rule({ on: 'message', answer: Number(code), times: 1 });
    await expect(number.sendText(ana.jid, `refused ${code}`)).rejects.toMatchObject({
      code: 'wa_error',
      certain: true,
      retriable: false,
      text: expect.stringContaining(`(${code})`) as string,
    });
  });

  test('463 is told to the API, which holds back messages to new contacts', async () => {
    const { number, network, phone } = stage;
    const bia = await network.contact('5511900000014', { name: 'Bia' });
    const before = number.rows.restrictions.length;
    await number.replace();
    await network.restrict(phone.number, { minutes: 5 });
    await expect(number.sendText(bia.jid, 'new here')).rejects.toMatchObject({ code: 'wa_error' });
    const told = () => number.rows.restrictions.slice(before).find((until) => until !== null);
    const minutes = (await until('it is told', told)).getTime() - Date.now();
    expect(minutes / 60_000).toBeCloseTo(5, 0);
    await network.lift(phone.number);
  });

  test('a number that is not on it', async () => {
    await expect(stage.number.sendText('5511888888888@s.whatsapp.net', 'hello?')).rejects.toMatchObject({
      code: 'recipient_not_on_whatsapp',
      certain: true,
    });
  });
});

test('where nothing may be written nothing is', async () => {
  const { number, ana, network } = stage;
  const message = number.message(ana.jid, { type: 'text', text: { body: 'never' } });
  await expect(number.send(message, () => false)).rejects.toMatchObject({ certain: true, retriable: true });
  const left = await network.stanzas({});
  expect(left.some(({ stanza }) => stanza.attrs['id'] === message.wa_message_id)).toBe(false);
  await number.replace();
});

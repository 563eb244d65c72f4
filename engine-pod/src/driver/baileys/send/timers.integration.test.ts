import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Content } from '@gwk/network/control/client';
import { NEVER_ABORTED, numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());
afterEach(async () => {
  const { violations } = await stage.network.status();
  expect(violations).toEqual([]);
});

const DAY = 86_400;
const notice = (seconds: number): Content => ({
  protocolMessage: { type: 'EPHEMERAL_SETTING', ephemeralExpiration: seconds },
});

describe('the timer of a chat is reported', () => {
  test.each<[string, (stage: NumberStage) => Promise<string>]>([
    ['by a notice of the contact', ({ ana, phone }) => ana.writes(notice(DAY), { to: phone.number })],
    ['by a notice from the phone', ({ ana, phone }) => phone.writesOnPhone(ana.number, notice(DAY))],
    [
      'by a notice that waited while the engine was away',
      async ({ number, ana, phone }) => {
        await number.driver.close();
        const id = await ana.writes(notice(DAY), { to: phone.number });
        number.connect();
        return id;
      },
    ],
    [
      'by a message that could not be decrypted at first',
      ({ ana, phone }) =>
        ana.writes(
          { extendedTextMessage: { text: 'oi', contextInfo: { expiration: DAY } } },
          { to: phone.number, options: { garbled: 1 } },
        ),
    ],
    [
      'by a message that only the phone has',
      ({ ana, phone }) =>
        ana.writes(
          { extendedTextMessage: { text: 'oi', contextInfo: { expiration: DAY } } },
          { to: phone.number, options: { unavailable: true } },
        ),
    ],
    [
      'by a forwarded picture',
      ({ ana, phone }) =>
        ana.writesFile('image', Buffer.from('a picture'), {
          to: phone.number,
          fields: { contextInfo: { isForwarded: true, expiration: DAY } },
        } as Parameters<typeof ana.writesFile>[2]),
    ],
  ])('%s', async (_, write) => {
    const { number } = stage;
    const id = await write(stage);
    const { timer, chat } = await number.gets(id);
    expect(timer).toEqual({ seconds: DAY, set_at: expect.any(String) as string });
    expect([stage.ana.jid, stage.ana.lidJid]).toContain(chat);
  });

  test('by a notice alone without a message', async () => {
    const { number, ana, phone } = stage;
    const id = await ana.writes(notice(0), { to: phone.number });
    expect(await number.gets(id)).toMatchObject({
      type: 'other',
      text: null,
      is_timer_only: true,
      timer: { seconds: 0 },
    });
  });
});

const file = Buffer.from('a file');
const finished = {
  mimetype: 'image/jpeg',
  size: file.length,
  sha256: createHash('sha256').update(file).digest('hex'),
  filename: 'a.jpg',
};
const phones = ['5511999990000'];
const TYPES: OutboundContent[] = [
  { type: 'text', text: { body: 'oi' } },
  { type: 'image', image: { caption: 'a' }, finished },
  { type: 'video', video: {}, finished },
  { type: 'document', document: {}, finished },
  { type: 'audio', audio: { voice: true }, finished },
  { type: 'sticker', sticker: {}, finished },
  { type: 'location', location: { latitude: 1, longitude: 1 } },
  { type: 'contact', contact: { name: 'Bia', phones } },
  {
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
  { type: 'interactive', interactive: { body: 'Which?', buttons: [{ type: 'reply', id: 'a', label: 'A' }] } },
] as unknown as OutboundContent[];

describe('in a chat with a timer', () => {
  const timer = { seconds: DAY, set_at: '2026-03-10T12:00:00.000Z' };
  beforeAll(async () => {
    const { ana, phone, number } = stage;
    await number.gets(await ana.writes(notice(DAY), { to: phone.number }));
  });

  test.each(TYPES.map((content) => [content.type, content] as const))('%s states it', async (_, content) => {
    const { number, ana } = stage;
    for (const mode of ['native', 'native+text', 'text'] as const) {
      const message = number.message(ana.jid, content, { timer, interactive_mode: mode });
      number.rows.files.set(message.message_id, () => Readable.from([file]));
      const { id } = await number.send(message);
      const { message: shown } = await ana.receives({ id });
      expect(JSON.stringify(shown)).toContain(`"expiration":${DAY}`);
      expect(JSON.stringify(shown)).toContain('"ephemeralSettingTimestamp":');
      if (content.type !== 'interactive') break;
    }
  });

  // WhatsApp Web states it in neither: the changed message keeps its own.
  test('an edit, a reaction and a deletion do not', async () => {
    const { number, ana } = stage;
    const { id } = await number.send(number.message(ana.jid, TYPES[0]!, { timer }));
    const message = { chat: ana.jid, wa_message_id: id, from_me: true, participant: null };
    const given = { mayWrite: () => true, signal: NEVER_ABORTED };
    await number.driver.edit({ kind: 'edit', stanza_id: '3EB0EDIT', message, text: 'second' }, given);
    await number.driver.edit({ kind: 'react', stanza_id: '3EB0REACT', message, emoji: '👍' }, given);
    await number.driver.edit({ kind: 'delete', stanza_id: '3EB0DEL', message }, given);
    for (const change of ['3EB0EDIT', '3EB0REACT', '3EB0DEL']) {
      expect(JSON.stringify((await ana.receives({ id: change })).message)).not.toContain('expiration');
    }
  });

  test('that has ended a message states none', async () => {
    const { number, ana, phone } = stage;
    await number.gets(await ana.writes(notice(0), { to: phone.number }));
    const ended = { timer: { ...timer, seconds: 0 } };
    const { id } = await number.send(number.message(ana.jid, TYPES[0]!, ended));
    expect(JSON.stringify((await ana.receives({ id })).message)).not.toContain('expiration');
  });
});

test('a message to a group states the timer that an admin has set', async () => {
  const { number, ana, phone, network } = stage;
  const group = await network.group('Friends', [ana, phone], { expiration: DAY });
  const send = async () => {
    const { id } = await number.send(number.message(group, TYPES[0]!));
    return JSON.stringify((await ana.receives({ id })).message);
  };
  expect(await send()).toContain(`"expiration":${DAY}`);
  for (const seconds of [7 * DAY, 0]) {
    await network.changeGroup(group, { expiration: seconds });
    await phone.hasTakenAll();
    expect((await send()).includes(`"expiration":${seconds}`)).toBe(seconds > 0);
  }
  await network.changeGroup(group, { expiration: DAY });
  await number.replace();
  expect(await send()).toContain(`"expiration":${DAY}`);
});

test('the network reports a message without the timer of its chat', async () => {
  const { number, ana, phone, network, running } = stage;
  await number.gets(await ana.writes(notice(DAY), { to: phone.number }));
  const { id } = await number.sendText(ana.jid, 'stays');
  await ana.receives({ id });
  expect((await network.status()).violations).toEqual([expect.stringContaining(id)]);
  running.network.world.violations.length = 0;
});

import { newUuid } from '@gwk/core/ids/ids';
import type { OutboundContent } from '@gwk/core/resources/message';
import {
  createWorld,
  readOutcome,
  someone,
  toUuid,
  type Send,
  type World,
} from '@gwk/test/support/api/acceptance';
import type { Acceptor } from './acceptor.js';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld();
  acceptor = world.acceptor();
});
afterAll(() => world.close());

/** Limits are per instance, so each test has its own. */
let instance: string;
beforeEach(async () => {
  instance = await world.addInstance();
});

const file = (name: string) => ({ media: { url: `https://example.org/${name}` } });
const ALBUM = [
  { image: { ...file('a.jpg'), caption: 'A' } },
  { video: file('b.mp4') },
  { image: file('c.jpg') },
];
const album = (more: object = {}) => ({ text: undefined, type: 'album', album: ALBUM, ...more });
const send = (given: Send = {}, by = acceptor) =>
  world.send(by, { instance, to: someone(), extra: album(), ...given });

interface Stored {
  id: string;
  type: string;
  waMessageId: string | null;
  content: OutboundContent;
  seq: bigint | null;
  state: string;
}

/** The messages of the instance in the order of its queue. */
async function stored(): Promise<Stored[]> {
  const rows = await world.database.message.findMany({
    where: { instanceId: instance },
    orderBy: { id: 'asc' },
  });
  return Promise.all(
    rows.map(async ({ id, type, waMessageId }) => {
      const { contentSealed } = await world.database.messageContent.findUniqueOrThrow({
        where: { messageId: id },
      });
      const content = world.sealer.openJson(instance, 'message_contents.content_sealed', contentSealed);
      const { seq, state } = await world.database.outboxEntry.findUniqueOrThrow({ where: { messageId: id } });
      return { id, type, waMessageId, content: content as OutboundContent, seq, state };
    }),
  );
}

/** Runs once between gathering and writing. */
function changedBeforeWrite(change: () => Promise<unknown>): Acceptor {
  let done = false;
  return world.acceptor({
    beforeStatement: async (sql) => {
      if (done || !sql.includes('gwk_accept_write')) return;
      done = true;
      await change();
    },
  });
}

test.each([
  ['a contact', () => someone()],
  ['a contact known by LID', () => `${someone()}@lid`],
  ['a group', () => '120363012345678901@g.us'],
])('an album to %s is queued as its frame and one message for each file, in order', async (_, to) => {
  const { message } = await send({ to: to() });
  const rows = await stored();
  expect([message, ...message.items!].map(({ id }) => toUuid(id))).toEqual(rows.map(({ id }) => id));
  expect(message.items!.map(({ type, status }) => [type, status])).toEqual([
    ['image', 'queued'],
    ['video', 'queued'],
    ['image', 'queued'],
  ]);
  expect(rows.map(({ seq }) => seq)).toEqual([1n, 2n, 3n, 4n]);
  const part_of = { wa_message_id: rows[0]!.waMessageId, kind: 'album' };
  expect(rows.map(({ content }) => content)).toEqual([
    { type: 'album', album: { images: 2, videos: 1 } },
    { type: 'image', image: ALBUM[0]!.image, part_of },
    { type: 'video', video: ALBUM[1]!.video, part_of },
    { type: 'image', image: ALBUM[2]!.image, part_of },
  ]);
});

test('a picture in HD is queued as its standard version, then the whole one', async () => {
  const image = { ...file('a.jpg'), caption: 'A', hd: true };
  const { message } = await send({ extra: { text: undefined, type: 'image', image } });
  const [standard, hd] = await stored();
  expect(message.items!.map(({ id }) => toUuid(id))).toEqual([hd!.id]);
  expect(standard!.content).toEqual({ type: 'image', image });
  expect(hd!.content).toEqual({
    type: 'image',
    image: { ...file('a.jpg'), hd: true },
    part_of: { wa_message_id: standard!.waMessageId, kind: 'hd' },
  });
});

test('the quote belongs to the frame, mentions belong to the files', async () => {
  const to = someone();
  const quoted = await world.send(acceptor, { instance, to });
  await world.database.message.updateMany({
    where: { id: toUuid(quoted.message.id) },
    data: { status: 'sent' },
  });
  await send({ to, extra: album({ reply_to: quoted.message.id, mentions: ['5511987654321'] }) });
  const [, frame, ...files] = await stored();
  expect(frame!.content).toMatchObject({ reply_to: toUuid(quoted.message.id) });
  expect(frame!.content).not.toHaveProperty('mentions');
  const mentions = ['5511987654321@s.whatsapp.net'];
  expect(files.map(({ content }) => [content.mentions, content.reply_to])).toEqual(
    files.map(() => [mentions, undefined]),
  );
});

test('no other message comes between the files of an album', async () => {
  const to = someone();
  const texts = () => [1, 2, 3].map(() => world.send(acceptor, { instance, to, text: newUuid() }));
  await Promise.all([...texts(), send({ to }), ...texts(), send({ to })]);
  const types = (await stored()).sort((a, b) => Number(a.seq! - b.seq!)).map(({ type }) => type);
  expect(types.join(' ').match(/album image video image/g)).toHaveLength(2);
});

test('counts as one new contact', async () => {
  const data = { policy: { new_contacts_per_day: 1 } };
  await world.database.instance.update({ where: { id: instance }, data });
  expect(await readOutcome(send())).toBe('accepted');
  expect(await readOutcome(send())).toBe('policy-new-contacts-limit');
});

test('a repeat gets the same ids, also for concurrent requests', async () => {
  const request = { key: newUuid(), to: someone() };
  const answers = await Promise.all([1, 2, 3].map(() => send(request)));
  const repeat = await send(request);
  expect(repeat.replayed).toBe(true);
  expect(answers.map(({ message }) => message)).toEqual(answers.map(() => repeat.message));
  expect(await stored()).toHaveLength(4);
  const other = send({ ...request, extra: album({ album: ALBUM.slice(1) }) });
  expect(await readOutcome(other)).toBe('idempotency-key-reused');
});

describe('is written whole or not at all', () => {
  test('if one file is unknown', async () => {
    const key = newUuid();
    const unknown = { image: { media: { media_id: `med_${'0'.repeat(32)}` } } };
    const refused = send({ key, extra: album({ album: [...ALBUM, unknown] }) });
    expect(await readOutcome(refused)).toBe('media-not-found');
    expect(await stored()).toEqual([]);
    expect((await send({ key })).replayed).toBe(false);
  });

  test('if another replica takes its key first', async () => {
    const request = { key: newUuid(), to: someone() };
    const racing = changedBeforeWrite(() => send(request));
    const { replayed, message } = await send(request, racing);
    expect(replayed).toBe(true);
    expect((await stored()).map(({ id }) => id)).toEqual(
      [message, ...message.items!].map(({ id }) => toUuid(id)),
    );
  });

  test('if its last caption reaches a limit meanwhile, and its key stays free', async () => {
    const data = { policy: { mass_block: { max_contacts: 1 } } };
    await world.database.instance.update({ where: { id: instance }, data });
    const key = newUuid();
    const extra = album({ album: [...ALBUM, { image: { ...file('d.jpg'), caption: 'sale' } }] });
    const racing = changedBeforeWrite(() => world.send(acceptor, { instance, to: someone(), text: 'sale' }));
    expect(await readOutcome(send({ key, extra }, racing))).toBe('policy-mass-send-blocked');
    expect((await stored()).map(({ type }) => type)).toEqual(['text']);
    expect((await send({ key })).replayed).toBe(false);
  });
});

test('waits for the active hours as a whole', async () => {
  const now = new Date();
  const hour = (hours: number) => `${String((now.getUTCHours() + hours) % 24).padStart(2, '0')}:00`;
  const active_hours = { start: hour(2), end: hour(3), timezone: 'UTC', outside: 'schedule' };
  await world.database.instance.update({ where: { id: instance }, data: { policy: { active_hours } } });
  const request = { key: newUuid(), to: someone() };
  const { message } = await send(request);
  expect(message.items!.map((item) => item.scheduled_for)).toEqual(ALBUM.map(() => message.scheduled_for));
  expect((await stored()).map(({ state }) => state)).toEqual(Array(4).fill('scheduled'));
  expect((await send(request)).message).toEqual(message);
});

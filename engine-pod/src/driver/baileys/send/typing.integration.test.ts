import type { Content } from '@gwk/network/control/client';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
  const { number, phone, ana } = stage;
  // The owner's first message tells the device its name.
  await phone.writesOnPhone(ana.number, 'from the phone');
  await number.text('from the phone');
});
afterAll(() => stage.close());

/** Types of presence and typing stanzas that the device has sent since, in order. */
async function sentSince(after: number): Promise<(string | undefined)[]> {
  const found = await stage.network.stanzas({ way: 'in', number: stage.phone.number, after });
  return found
    .filter(({ stanza: { tag } }) => tag === 'presence' || tag === 'chatstate')
    .map(({ stanza }) => (stanza.tag === 'presence' ? stanza.attrs['type'] : chatState(stanza)));
}

const chatState = ({ content }: { content?: unknown }): string => (content as { tag: string }[])[0]!.tag;

async function position(): Promise<number> {
  return (await stage.network.stanzas({})).at(-1)!.seq;
}

const presences = (after: number, expected: string[]) =>
  until(`presences ${expected.join()}`, async () => {
    const found = await sentSince(after);
    return found.length >= expected.length ? found : undefined;
  }).then((found) => expect(found).toEqual(expected));

describe('typing', () => {
  test.each(['typing', 'recording'] as const)(
    '%s is shown, and its end makes the phone ring',
    async (state) => {
      const { number, ana, network } = stage;
      const before = await position();
      const shown = (await network.typings()).length;
      await number.driver.sendPresence(ana.jid, state);
      await number.driver.sendPresence(ana.jid, 'paused');
      await presences(before, ['available', 'composing', 'paused', 'unavailable']);
      expect((await network.typings()).slice(shown)).toMatchObject([
        { to: ana.number, state: state === 'typing' ? 'composing' : 'recording' },
        { to: ana.number, state: 'paused' },
      ]);
    },
  );

  test.each<[string, (ana: NumberStage['ana']) => string]>([
    ['the phone number', ({ jid }) => jid],
    ['the LID', ({ lidJid }) => lidJid],
  ])('ends with a message to the chat, also by %s', async (_, address) => {
    const { number, ana } = stage;
    const before = await position();
    await number.driver.sendPresence(ana.lidJid, 'typing');
    await number.sendText(address(ana), 'typed');
    await presences(before, ['available', 'composing', 'unavailable']);
  });

  test('ends 10 s after the last state', async () => {
    const { number, ana, network } = stage;
    const before = await position();
    await number.driver.sendPresence(ana.jid, 'typing');
    number.clock.advance(9_000);
    await number.driver.sendPresence(ana.jid, 'typing');
    number.clock.advance(9_000);
    await network.status();
    expect(await sentSince(before)).toEqual(['available', 'composing', 'composing']);
    number.clock.advance(1_000);
    await presences(before, ['available', 'composing', 'composing', 'unavailable']);
  });

  test('goes on in one chat when it ends in another', async () => {
    const { number, ana, network, phone } = stage;
    const group = await network.group('Friends', [await network.contact(phone.number), ana]);
    const before = await position();
    await Promise.all([
      number.driver.sendPresence(ana.jid, 'typing'),
      number.driver.sendPresence(group, 'typing'),
    ]);
    await number.sendText(ana.jid, 'typed here only');
    expect(await sentSince(before)).toEqual(['available', 'composing', 'composing']);
    await number.driver.sendPresence(group, 'paused');
    await presences(before, ['available', 'composing', 'composing', 'paused', 'unavailable']);
    expect((await network.typings()).at(-1)).toMatchObject({ to: group, state: 'paused' });
  });

  test('does not delay a message while the stored session cannot be read', async () => {
    const { number, ana, network } = stage;
    const bia = await network.contact('5511900000031', { name: 'Bia' });
    await number.sendText(ana.jid, 'before');
    await number.driver.sendPresence(bia.lidJid, 'typing');
    const { promise, resolve } = Promise.withResolvers<void>();
    number.rows.beforeRead = (type) => (type === 'lid-mapping' ? promise : Promise.resolve());
    try {
      await number.sendText(ana.jid, 'acknowledged');
    } finally {
      number.rows.beforeRead = () => Promise.resolve();
      resolve();
    }
    await number.driver.sendPresence(bia.lidJid, 'paused');
  });

  test('ends when the engine restarts', async () => {
    const { number, ana } = stage;
    await number.driver.sendPresence(ana.jid, 'typing');
    const before = await position();
    await number.replace();
    await presences(before, ['unavailable']);
    number.clock.advance(10_000);
    expect(await sentSince(before)).toEqual(['unavailable']);
  });
});

test.each<[string, Content | string, { attributes?: Record<string, string> }]>([
  ['a message of the owner', 'one more', {}],
  ['a new name', 'renamed', { attributes: { notify: 'New shop' } }],
  ['new keys', { protocolMessage: { type: 'APP_STATE_SYNC_KEY_SHARE', appStateSyncKeyShare: KEYS() } }, {}],
])('the phone rings after %s', async (_, message, options) => {
  const { network, phone, ana, number } = stage;
  const before = await position();
  await network.call('writeFromPhone', {
    from: phone.number,
    to: ana.number,
    message: typeof message === 'string' ? { conversation: message } : message,
    options,
  });
  await phone.hasTakenAll();
  await number.sendText(ana.jid, 'later');
  expect((await sentSince(before)).filter((type) => type !== 'unavailable')).toEqual([]);
});

test('no presence lacks its type, and a new name is announced', async () => {
  const all = (await stage.network.stanzas({ way: 'in', tag: 'presence' })).map(({ stanza }) => stanza.attrs);
  expect(all.filter(({ type }) => type === undefined)).toEqual([]);
  expect(all).toContainEqual({ name: 'New shop', type: 'unavailable' });
});

function KEYS() {
  const keyData = Buffer.alloc(32, 1).toString('base64');
  return { keys: [{ keyId: { keyId: 'AAAAAAAB' }, keyData: { keyData } }] };
}

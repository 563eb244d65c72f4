import type { MessageKey, CommandName } from '@gwk/core/protocol/commands';
import { Stage } from '@gwk/test/support/engine/stage';
import { until } from '@gwk/test/support/engine/engine-process';

const ACK_TIMEOUT_MS = 1_000;

let stage: Awaited<ReturnType<typeof Stage.openInProcess>>;
beforeEach(async () => {
  stage = await Stage.openInProcess();
});
afterEach(() => stage.close());

const key = (chat = '5511987654321@s.whatsapp.net'): MessageKey => ({
  chat,
  wa_message_id: 'W1',
  from_me: true,
  participant: null,
});
const change = (name: CommandName, more: object, message = key()) =>
  stage.command(name, { args: JSON.stringify({ stanza_id: `S-${name}`, message, ...more }) });

test('sends edits to the network at once, each under its own id', async () => {
  await stage.start();
  const replies = [
    await change('edit', { text: 'novo' }),
    await change('react', { emoji: '👍' }),
    await change('delete', {}),
  ];
  expect(replies).toMatchObject(replies.map(() => ({ ok: true, result: null })));
  const stanzas = stage.network.arrivals.map(({ wa_message_id, chat, body }) => ({
    id: wa_message_id,
    chat,
    ...(JSON.parse(Buffer.from(body, 'base64').toString()) as object),
  }));
  const { chat } = key();
  expect(stanzas).toEqual([
    { id: 'S-edit', chat, type: 'edit', key: key(), text: { body: 'novo' } },
    { id: 'S-react', chat, type: 'react', key: key(), emoji: '👍' },
    { id: 'S-delete', chat, type: 'delete', key: key() },
  ]);
});

test('distinguishes a refusal of the network from a missing answer', async () => {
  await stage.start({ ackTimeoutMs: ACK_TIMEOUT_MS });
  const failing = key('5511999990002@s.whatsapp.net');
  expect(await change('react', { emoji: '👍' }, failing)).toMatchObject({ ok: false, code: 'wa_error' });
  stage.network.answerAfter = () => null;
  expect(await change('delete', {})).toMatchObject({ ok: false, code: 'timeout' });
});

test('fails at once without a connection and writes nothing', async () => {
  await stage.start();
  await stage.command('logout');
  await until('it is logged out', () => stage.states.at(-1) === 'pending_pair: logout');
  const before = stage.network.arrivals.length;
  expect(await change('edit', { text: 'novo' })).toMatchObject({ ok: false, code: 'not_connected' });
  expect(stage.network.arrivals).toHaveLength(before);
});

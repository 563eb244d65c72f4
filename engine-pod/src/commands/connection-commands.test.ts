import { SendFailure, type Driver } from '../driver/driver.js';
import { ConnectionCommands } from './connection-commands.js';

type Options = ConstructorParameters<typeof ConnectionCommands>[0];

const args = JSON.stringify({ stanza_id: 'S', message: { chat: '1@lid', wa_message_id: 'W' }, emoji: '👍' });

function setUp({ answer, mayBegin = true }: { answer?: SendFailure; mayBegin?: boolean }) {
  const seen = { edits: 0, limited: 0 };
  const driver = {
    edit: async () => {
      seen.edits += 1;
      if (answer) throw answer;
    },
  } as unknown as Driver;
  const gate = { open: true, mayBegin } as unknown as Options['gate'];
  const rateLimited = (): void => void (seen.limited += 1);
  const options = { driver, gate, rateLimited, ackTimeoutMs: 1_000 } as unknown as Options;
  return { seen, commands: new ConnectionCommands(options).handlers };
}

const KINDS = ['edit', 'delete', 'react'] as const;

test.each(KINDS)('%s: a refusal for too many messages begins the pause', async (kind) => {
  const { seen, commands } = setUp({ answer: SendFailure.refusedForNow('too many', '429') });
  await expect(commands[kind](args)).rejects.toMatchObject({ code: 'not_connected' });
  expect(seen).toEqual({ edits: 1, limited: 1 });
});

test.each(KINDS)('%s: no other answer begins it', async (kind) => {
  const answers = [
    undefined,
    SendFailure.refusedForNow('broken', '503'),
    SendFailure.refused('wa_error', 'never (479)'),
    SendFailure.unconfirmed(),
  ];
  for (const answer of answers) {
    const { seen, commands } = setUp(answer ? { answer } : {});
    await commands[kind](args).catch(() => undefined);
    expect(seen).toEqual({ edits: 1, limited: 0 });
  }
});

test.each(KINDS)('%s: nothing is sent during the pause', async (kind) => {
  const { seen, commands } = setUp({ mayBegin: false });
  await expect(commands[kind](args)).rejects.toMatchObject({ code: 'not_connected' });
  expect(seen).toEqual({ edits: 0, limited: 0 });
});

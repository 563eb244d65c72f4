import {
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const accept = () => internalApi.accept({ instance: engine.instanceId, to: '5511977770001' });
const message = (id: string) => internalApi.world.database.message.findUniqueOrThrow({ where: { id } });

/** Passes the lease to another pod, as after a crash. */
async function takeOver(from: TestEngine): Promise<TestEngine> {
  await internalApi.operator.call('engine-ended', { instance_id: from.instanceId, pod: from.pod });
  return (await internalApi.addPod(from.instanceId, `${from.pod}x`)).acquire();
}

describe('the content of a sent message', () => {
  const readSent = (wa_message_id: string, by = engine) => by.call('sent', { wa_message_id });

  test('is returned as built, also to the next engine, and to no other', async () => {
    const id = await accept();
    await engine.claim();
    await engine.call('built', { messages: [{ message_id: id, built: 'YnVpbHQ=', rendered_as: null }] });
    const outcome = {
      kind: 'sent',
      message_id: id,
      at: new Date().toISOString(),
      rendered_as: null,
    } as const;
    await engine.call('outcomes', { outcomes: [outcome] });
    const { waMessageId } = await message(id);
    const next = await takeOver(engine);
    expect(await readSent(waMessageId!, next)).toEqual({ built: 'YnVpbHQ=' });
    expect(await readRefusal(readSent(waMessageId!))).toBe('unauthorized');
    const stranger = await (await internalApi.addEngine()).acquire();
    expect(await readSent(waMessageId!, stranger)).toEqual({ built: null });
  });

  test('is null for an unknown message and for one not yet built', async () => {
    const id = await accept();
    const { waMessageId } = await message(id);
    expect(await readSent(waMessageId!)).toEqual({ built: null });
    expect(await readSent('3EB0NEVER')).toEqual({ built: null });
  });
});

describe('the secret of a poll', () => {
  const readPoll = (wa_message_id: string, by = engine) => by.call('sent', { wa_message_id, poll: true });
  const options = ['A', 'B'].map((label) => ({ id: label, label, number: null }));

  async function sendPoll(secret?: string): Promise<string> {
    const id = await accept();
    await engine.claim();
    const menu = { kind: 'poll' as const, mode: 'native' as const, options, selectable: 1 };
    const sent = { message_id: id, built: 'YnVpbHQ=', rendered_as: null };
    await engine.call('built', { messages: [{ ...sent, menu: { ...menu, ...(secret && { secret }) } }] });
    return (await message(id)).waMessageId!;
  }

  test('is kept with the poll, for the next engine and no other', async () => {
    const id = await sendPoll('c2VjcmV0');
    const next = await takeOver(engine);
    expect(await readPoll(id, next)).toEqual({ secret: 'c2VjcmV0', built: null });
    expect(await readRefusal(readPoll(id))).toBe('unauthorized');
    const stranger = await (await internalApi.addEngine()).acquire();
    expect(await readPoll(id, stranger)).toEqual({ built: null });
  });

  test('of an engine that reported none is in the content', async () => {
    expect(await readPoll(await sendPoll())).toEqual({ secret: null, built: 'YnVpbHQ=' });
  });

  test('is not found by the id of another message', async () => {
    const id = await accept();
    await engine.claim();
    await engine.call('built', { messages: [{ message_id: id, built: 'YnVpbHQ=', rendered_as: null }] });
    expect(await readPoll((await message(id)).waMessageId!)).toEqual({ built: null });
  });
});

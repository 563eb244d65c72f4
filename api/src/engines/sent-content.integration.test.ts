import {
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';

let port: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  port = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await port.addEngine()).acquire();
});
afterAll(() => port.close());

const accept = () => port.accept({ instance: engine.instanceId, to: '5511977770001' });
const message = (id: string) => port.world.database.message.findUniqueOrThrow({ where: { id } });

/** The lease passes to another pod, as after a crash. */
async function takeOver(from: TestEngine): Promise<TestEngine> {
  await port.operator.call('engine-ended', { instance_id: from.instanceId, pod: from.pod });
  return (await port.addPod(from.instanceId, `${from.pod}x`)).acquire();
}

describe('what was sent', () => {
  const sentAs = (wa_message_id: string, by = engine) => by.call('sent', { wa_message_id });

  test('is read as it was built, by the next engine too, and by nobody else', async () => {
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
    expect(await sentAs(waMessageId!, next)).toEqual({ built: 'YnVpbHQ=' });
    expect(await readRefusal(sentAs(waMessageId!))).toBe('unauthorized');
    const stranger = await (await port.addEngine()).acquire();
    expect(await sentAs(waMessageId!, stranger)).toEqual({ built: null });
  });

  test('is nothing where it is not known, or not yet built', async () => {
    const id = await accept();
    const { waMessageId } = await message(id);
    expect(await sentAs(waMessageId!)).toEqual({ built: null });
    expect(await sentAs('3EB0NEVER')).toEqual({ built: null });
  });
});

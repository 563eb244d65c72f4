import { openStage, type Stage } from '../support/gateway/stage.js';
import { sendTraffic, type Traffic } from '../support/gateway/traffic.js';
import { checkTraffic, report, settle } from '../support/gateway/check-traffic.js';
import { realTime, until } from '../support/wait.js';

/** Each message makes three events: sent, delivered, read. */
const CONVERSATIONS = 17;
const PER_CONVERSATION = 10;
const EVENTS = CONVERSATIONS * PER_CONVERSATION * 3;

describe('two workers', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('workers', { workers: 2 });
  });
  afterAll(() => stage?.close());

  const traffic = (name: string, onAccepted?: (count: number) => void): Promise<Traffic> =>
    sendTraffic({
      clients: stage.customer.clients,
      instanceId: stage.instance.id,
      name,
      conversations: CONVERSATIONS,
      perConversation: PER_CONVERSATION,
      ...(onAccepted && { onAccepted }),
    });

  const read = ({ startedAt, count }: Traffic): Promise<boolean> =>
    until(
      async () => {
        const query = { instance_id: stage.instance.id, since: startedAt.toISOString(), status: 'read' };
        return (await stage.customer.client.messages(query)).length === count;
      },
      { what: 'all messages are read', everyMs: 250, timeoutMs: realTime(120_000) },
    );

  test('posts each of 510 events once', async () => {
    const sends = await traffic('each once');
    await read(sends);
    await settle(stage.witnesses);
    const { sums, faults } = await checkTraffic(sends, stage.witnesses);
    report('two workers', sums);
    expect(faults).toEqual([]);
    expect(sums['events']).toBe(EVENTS);
    expect(sums['webhook calls']).toBe(EVENTS);
  });

  test('takes over the calls of a killed worker', async () => {
    // Responses are delayed, so that the worker dies with calls in flight.
    await stage.receiver.setRule(stage.witnesses.path, { delayMs: 200 });
    const dying = stage.gateway.workers[0]!;
    const survivor = stage.gateway.workers[1]!;
    const sends = await traffic('taken over');
    await until(async () => (await stage.receiver.calls()).some(({ answered }) => answered === null), {
      what: 'calls are in flight',
    });
    await dying.kill('SIGKILL');
    await stage.receiver.setRule(stage.witnesses.path, {});
    await read(sends);
    await settle(stage.witnesses);
    const { sums, faults } = await checkTraffic(sends, stage.witnesses);
    report('a killed worker', sums);
    expect(faults).toEqual([]);
    expect(sums['events received']).toBe(EVENTS);
    expect(survivor.deaths).toEqual([]);
  });
});

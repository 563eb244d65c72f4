import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedInternalApiOptions } from '../../support/engine/scripted-internal-api.js';

let stage: Stage;
const open = async (options: Partial<ScriptedInternalApiOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

test('the next engine sends the messages of a killed one', async () => {
  const { api, network } = await open();
  const message = api.queue.add('551', 'hello');
  network.answerAfter = () => null;
  const engine = await stage.start();
  await until('it has arrived', () => network.arrivals.length === 1);
  await engine.kill();
  network.answerAfter = () => 0;
  api.queue.orphan();
  message.content = JSON.stringify({ type: 'text', text: { body: 'another rendering' } });
  await stage.start();
  await until('it is sent', () => stage.sent === 1);
  expect(new Set(network.arrivals.map(({ body }) => body)).size).toBe(1);
  expect(network.arrivals.map(({ epoch }) => epoch)).toEqual([1, 2]);
});

describe('pacing and claims', () => {
  test('makes one claim for a message when none waits after it, and sends its receipts with other outcomes', async () => {
    const { api } = await open();
    await stage.start();
    await until('it is at rest', () => api.of('claims').length > 0 && api.of('state').length > 0);
    const claims = api.of('claims').length;
    for (let sent = 1; sent <= 5; sent++) {
      const { message_id } = api.queue.add(`55${sent}`, 'hello');
      await stage.notify(message_id);
      await until('it is sent', () => stage.sent === sent);
    }
    await until('all are read', () => api.queue.outcomesOf('receipt').length === 10);
    expect(api.of('claims').length - claims).toBeLessThan(10);
    expect(api.of('outcomes').length).toBeLessThan(15);
  });

  test('claims no more than may leave, and applies a new rate at once', async () => {
    const { api, network } = await open({ messagesPerMinute: 3, renewMs: 500 });
    for (let i = 0; i < 6; i++) api.queue.add(`55${i}`, 'hello');
    await stage.start();
    await until('three are sent', () => stage.sent === 3);
    await pause(realTime(700));
    expect(network.arrivals).toHaveLength(3);
    expect(Math.max(...api.of('claims').map(({ body }) => Number(body['limit'])))).toBe(3);
    api.messagesPerMinute = 6_000;
    // At the former rate it would take a minute.
    await until('the rest is sent', () => stage.sent === 6);
  });
});

describe('a graceful stop', () => {
  test('finishes sends, returns the rest, closes the socket, and releases the lease last', async () => {
    const { api, network } = await open();
    const isReturned = () => api.queue.outcomesOf('returned').length > 0;
    network.answerAfter = () => until('the other is returned', isReturned).then(() => 0);
    const inFlight = api.queue.add('551', 'in flight');
    const engine = await stage.start({ idleClaimMs: 60_000 });
    await until('it is on the network', () => network.arrivals.length === 1);
    let answerBuilt = (): void => {};
    const held = new Promise<'answer'>((resolve) => (answerBuilt = () => resolve('answer')));
    api.fault = ({ route }) => (route === 'built' ? held : 'answer');
    const waiting = api.queue.add('552', 'waiting');
    await stage.notify(waiting.message_id);
    await until('the second is about to be sent', () => api.of('built').length === 2);
    const claimId = api.queue.claimOf(waiting.message_id);
    engine.child.kill('SIGTERM');
    await until('it is stopping', () => engine.log.includes('"stopping"'));
    answerBuilt();
    expect(await engine.exited).toBe(0);
    expect(api.queue.outcomes).toEqual([
      {
        kind: 'returned',
        message_id: waiting.message_id,
        claim_id: claimId,
        unsent: true,
      },
      expect.objectContaining({ kind: 'sent', message_id: inFlight.message_id }),
    ]);
    expect(network.arrivals).toHaveLength(1);
    expect(stage.states.at(-1)).toBe('disconnected: engine_stopped');
    expect(api.calls.at(-1)!.route).toBe('release');
  });

  test('leaves unanswered sends to the next engine after five seconds', async () => {
    const { api, network } = await open();
    network.answerAfter = () => null;
    api.queue.add('551', 'hello');
    const engine = await stage.start();
    await until('it is on the network', () => network.arrivals.length === 1);
    const from = performance.now();
    engine.child.kill('SIGTERM');
    expect(await engine.exited).toBe(0);
    expect(performance.now() - from).toBeGreaterThan(4_900);
    // An acknowledgement is awaited for 20 s.
    expect(performance.now() - from).toBeLessThan(realTime(15_000));
    expect(api.queue.outcomes).toEqual([]);
    expect(api.calls.at(-1)!.route).toBe('release');
  });

  test('follows the end of its parent', async () => {
    await open();
    const engine = await stage.start();
    engine.child.stdin!.end();
    expect(await engine.exited).toBe(0);
    expect(stage.api.calls.at(-1)!.route).toBe('release');
  });

  test('is immediate while it waits for its lease', async () => {
    const { api } = await open();
    api.fault = () => 'lease-held';
    const engine = stage.launch();
    await until('it has asked', () => api.of('acquire').length >= 2);
    engine.child.kill('SIGTERM');
    expect(await engine.exited).toBe(0);
  });
});

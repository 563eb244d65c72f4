import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { addressOf } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedPortOptions } from '../../support/engine/scripted-port.js';

let stage: Stage;
const open = async (options: Partial<ScriptedPortOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(addressOf(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

test('the next engine sends what the killed one had stored', async () => {
  const { port, network } = await open();
  const message = port.queue.add('551', 'hello');
  network.answerAfter = () => null;
  const engine = await stage.start();
  await until('it has arrived', () => network.arrivals.length === 1);
  await engine.kill();
  network.answerAfter = () => 0;
  port.queue.orphan();
  message.content = JSON.stringify({ type: 'text', text: { body: 'another rendering' } });
  await stage.start();
  await until('it is sent', () => stage.sent === 1);
  expect(new Set(network.arrivals.map(({ body }) => body)).size).toBe(1);
  expect(network.arrivals.map(({ epoch }) => epoch)).toEqual([1, 2]);
});

describe('what leaves in how much time', () => {
  test('a message after which nothing waits costs one claim, and its receipts go with what else there is', async () => {
    const { port } = await open();
    await stage.start();
    await until('it is at rest', () => port.of('claims').length > 0 && port.of('state').length > 0);
    const claims = port.of('claims').length;
    for (let sent = 1; sent <= 5; sent++) {
      const { message_id } = port.queue.add(`55${sent}`, 'hello');
      await stage.ring(message_id);
      await until('it is sent', () => stage.sent === sent);
    }
    await until('all are read', () => port.queue.outcomesOf('receipt').length === 10);
    expect(port.of('claims').length - claims).toBeLessThan(10);
    expect(port.of('outcomes').length).toBeLessThan(15);
  });

  test('no more is claimed than may leave, and a new rate acts at once', async () => {
    const { port, network } = await open({ messagesPerMinute: 3, renewMs: 500 });
    for (let i = 0; i < 6; i++) port.queue.add(`55${i}`, 'hello');
    await stage.start();
    await until('three are sent', () => stage.sent === 3);
    await pause(realTime(700));
    expect(network.arrivals).toHaveLength(3);
    expect(Math.max(...port.of('claims').map(({ body }) => Number(body['limit'])))).toBe(3);
    port.messagesPerMinute = 6_000;
    // At the former rate it would take a minute.
    await until('the rest is sent', () => stage.sent === 6);
  });
});

describe('a graceful stop', () => {
  test('lets sends end, returns the rest, closes the socket, and releases last', async () => {
    const { port, network } = await open();
    const isReturned = () => port.queue.outcomesOf('returned').length > 0;
    network.answerAfter = () => until('the other is returned', isReturned).then(() => 0);
    const inFlight = port.queue.add('551', 'in flight');
    const engine = await stage.start({ idleClaimMs: 60_000 });
    await until('it is on the network', () => network.arrivals.length === 1);
    let answerBuilt = (): void => {};
    const held = new Promise<'answer'>((resolve) => (answerBuilt = () => resolve('answer')));
    port.fault = ({ route }) => (route === 'built' ? held : 'answer');
    const waiting = port.queue.add('552', 'waiting');
    await stage.ring(waiting.message_id);
    await until('the second is about to be sent', () => port.of('built').length === 2);
    engine.child.kill('SIGTERM');
    await until('it is stopping', () => engine.log.includes('"stopping"'));
    answerBuilt();
    expect(await engine.exited).toBe(0);
    expect(port.queue.outcomes).toEqual([
      {
        kind: 'returned',
        message_id: waiting.message_id,
        claim_id: port.of('claims').at(-1)!.body['claim_id'],
        unsent: true,
      },
      expect.objectContaining({ kind: 'sent', message_id: inFlight.message_id }),
    ]);
    expect(network.arrivals).toHaveLength(1);
    expect(stage.states.at(-1)).toBe('disconnected: engine_stopped');
    expect(port.calls.at(-1)!.route).toBe('release');
  });

  test('what stays unanswered is left to the next engine after five seconds', async () => {
    const { port, network } = await open();
    network.answerAfter = () => null;
    port.queue.add('551', 'hello');
    const engine = await stage.start();
    await until('it is on the network', () => network.arrivals.length === 1);
    const from = performance.now();
    engine.child.kill('SIGTERM');
    expect(await engine.exited).toBe(0);
    expect(performance.now() - from).toBeGreaterThan(4_900);
    // An acknowledgement is waited for 20 s.
    expect(performance.now() - from).toBeLessThan(realTime(15_000));
    expect(port.queue.outcomes).toEqual([]);
    expect(port.calls.at(-1)!.route).toBe('release');
  });

  test('the end of its parent is one', async () => {
    await open();
    const engine = await stage.start();
    engine.child.stdin!.end();
    expect(await engine.exited).toBe(0);
    expect(stage.port.calls.at(-1)!.route).toBe('release');
  });

  test('while it waits for its lease it stops at once', async () => {
    const { port } = await open();
    port.fault = () => 'lease-held';
    const engine = stage.launch();
    await until('it has asked', () => port.of('acquire').length >= 2);
    engine.child.kill('SIGTERM');
    expect(await engine.exited).toBe(0);
  });
});

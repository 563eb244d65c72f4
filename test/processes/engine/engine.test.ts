import { setTimeout as sleep } from 'node:timers/promises';
import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { addressOf } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedPortOptions } from '../../support/engine/scripted-port.js';

let stage: Stage;
const open = async (options: Partial<ScriptedPortOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(addressOf(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

const textOf = (body: string): string =>
  (JSON.parse(Buffer.from(body, 'base64').toString()) as { text: { body: string } }).text.body;
const texts = (): string[] => stage.network.arrivals.map(({ body }) => textOf(body));

describe('sending', () => {
  test('what waits is sent at the start, what is rung for at once, and both bells are put away', async () => {
    const { port, network, redis } = await open();
    const first = port.queue.add('551', 'first');
    await stage.start({ idleClaimMs: 60_000 });
    // The answer to an outcome says that more waits, too.
    await until('the first is read', () => port.queue.outcomesOf('receipt').length === 2);
    const second = port.queue.add('552', 'second');
    await stage.ring(second.message_id);
    await until('the second is sent', () => stage.sent === 2);
    expect(network.arrivals).toMatchObject([
      { wa_message_id: first.wa_message_id, chat: '551@s.whatsapp.net', epoch: 1 },
      { wa_message_id: second.wa_message_id, chat: '552@s.whatsapp.net', epoch: 1 },
    ]);
    const bytes = Buffer.from(network.arrivals[0]!.body, 'base64').toString();
    expect(JSON.parse(bytes)).toEqual({ type: 'text', text: { body: 'first' } });
    await until('both are read', () => port.queue.outcomesOf('receipt').length === 4);
    await until('both bells are put away', async () => (await redis.call(['XLEN', stage.sends])) === 0);
    expect(await redis.call(['XPENDING', stage.sends, 'engine'])).toEqual([0, null, null, null]);
  });

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

  test('a conversation leaves in its order, one message at a time', async () => {
    const { port, network } = await open();
    network.answerAfter = () => 20;
    for (let i = 0; i < 20; i++) port.queue.add('551', `${i}`);
    await stage.start();
    await until('all are sent', () => stage.sent === 20);
    expect(texts()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
    const gaps = network.arrivals.slice(1).map(({ at }, i) => at - network.arrivals[i]!.at);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20);
  });

  test('a slow conversation delays no other', async () => {
    const { port, network } = await open();
    network.answerAfter = ({ chat }) => (chat.startsWith('999') ? 60_000 : 5);
    for (let i = 0; i < 40; i++) port.queue.add('999', 'slow');
    for (let i = 0; i < 100; i++) port.queue.add(`55${i % 10}`, 'quick');
    await stage.start();
    await until('all quick ones are sent', () => stage.sent === 100, 5_000);
    expect(texts().filter((text) => text === 'slow')).toHaveLength(1);
  });

  test('the numbers of a sandbox do what they stand for', async () => {
    const { port, network } = await open();
    port.queue.add('55110000', 'not on the network');
    port.queue.add('55110001', 'never read');
    port.queue.add('55110002', 'fails');
    await stage.start();
    await until('all are concluded', () => port.queue.outcomes.length >= 4);
    await sleep(1_200);
    expect(port.queue.outcomesOf('failed')).toMatchObject([
      { error: { code: 'recipient_not_on_whatsapp' } },
      { error: { code: 'wa_error' } },
    ]);
    expect(port.queue.outcomesOf('receipt')).toMatchObject([{ status: 'delivered' }]);
    expect(texts()).toEqual(expect.not.arrayContaining(['not on the network']));
    expect(network.arrivals).toHaveLength(2);
  });

  test('no more is claimed than may leave, and a new rate acts at once', async () => {
    const { port, network } = await open({ messagesPerMinute: 3, renewMs: 500 });
    for (let i = 0; i < 6; i++) port.queue.add(`55${i}`, 'hello');
    await stage.start();
    await until('three are sent', () => stage.sent === 3);
    await sleep(700);
    expect(network.arrivals).toHaveLength(3);
    expect(Math.max(...port.of('claims').map(({ body }) => Number(body['limit'])))).toBe(3);
    port.messagesPerMinute = 6_000;
    // At the former rate it would take a minute.
    await until('the rest is sent', () => stage.sent === 6);
  });
});

describe('doubt', () => {
  test('no answer in its time: the same bytes again under the same id, until one is acknowledged', async () => {
    const { port, network } = await open();
    const message = port.queue.add('551', 'hello');
    network.answerAfter = () => (network.arrivals.length < 3 ? null : 0);
    await stage.start({ ackTimeoutMs: 200 });
    await until('it is sent', () => stage.sent === 1);
    // One more where the acknowledgement is read late.
    expect(network.arrivals.length).toBeGreaterThanOrEqual(3);
    expect(port.queue.outcomesOf('sent')).toHaveLength(1);
    expect(new Set(network.arrivals.map(({ wa_message_id }) => wa_message_id))).toEqual(
      new Set([message.wa_message_id]),
    );
    expect(new Set(network.arrivals.map(({ body }) => body)).size).toBe(1);
  });

  test('a late answer to the first attempt counts', async () => {
    const { port, network } = await open();
    port.queue.add('551', 'hello');
    network.answerAfter = () => (network.arrivals.length === 1 ? 500 : null);
    await stage.start({ ackTimeoutMs: 200 });
    await until('it is sent', () => stage.sent === 1);
    expect(port.queue.outcomes).toHaveLength(1);
  });

  test('once the row says no, it is not sent again and the conversation goes on', async () => {
    const { port, network } = await open();
    const doubted = port.queue.add('551', 'doubted');
    port.queue.add('551', 'next');
    network.answerAfter = ({ body }) => (textOf(body) === 'doubted' ? null : 0);
    // At the question before it would be sent again, however late its arrival is read.
    port.fault = ({ route }) => {
      if (route === 'built' && port.of('built').length > 1) port.queue.remove(doubted.message_id);
      return 'answer';
    };
    await stage.start({ ackTimeoutMs: 300 });
    await until('the next is sent', () => stage.sent === 1);
    expect(texts()).toEqual(['doubted', 'next']);
  });

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
    expect(texts()).toEqual(['hello', 'hello']);
    expect(network.arrivals.map(({ epoch }) => epoch)).toEqual([1, 2]);
  });
});

describe('the port', () => {
  test('a lost reply to a claim is asked for again under the same claim id, as a repeat with the next number', async () => {
    const { port, network } = await open();
    port.fault = ({ route }) =>
      route === 'claims' && port.of('claims').length <= 2 ? 'lose-reply' : 'answer';
    port.queue.add('551', 'hello');
    await stage.start();
    await until('it is sent', () => stage.sent === 1);
    const [first, second, third] = port.of('claims').map(({ body }) => body['claim_id']);
    expect(first).toBe(second);
    expect(second).toBe(third);
    expect(network.arrivals).toHaveLength(1);
    await stage.ring(port.queue.add('551', 'hello again').message_id);
    await until('it is sent', () => stage.sent === 2);
    const numbers = port.of('claims').map(({ body }) => [body['number'], body['repeated']]);
    expect(numbers.slice(0, 4)).toEqual([
      [1, false],
      [2, true],
      [3, true],
      [4, false],
    ]);
  });

  test('states and outcomes that could not be stored are stored later, in order', async () => {
    const { port } = await open({ renewMs: 300 });
    await stage.start();
    let away = true;
    port.fault = ({ route }) => (away && route !== 'claims' && route !== 'built' ? 'hang' : 'answer');
    const message = port.queue.add('551', 'hello');
    await stage.ring(message.message_id);
    // It is answered once its states are stored.
    void stage.command('restart');
    await until('the restart waits to be told', () => port.of('state').length >= 2);
    await sleep(500);
    expect(stage.sent).toBe(0);
    port.fault = ({ route }) =>
      away && (route === 'state' || route === 'outcomes') ? 'unavailable' : 'answer';
    await sleep(200);
    away = false;
    await until('all is stored', () => stage.sent === 1 && stage.states.length === 4, 15_000);
    expect(stage.states.slice(-3)).toEqual(['disconnected: restart', 'connecting', 'connected']);
  }, 20_000);

  test('an item that the port refuses harms no other', async () => {
    const { port } = await open();
    const bad = port.queue.add('551', 'bad');
    port.queue.add('552', 'good');
    port.fault = ({ route, body }) =>
      route === 'outcomes' && JSON.stringify(body).includes(bad.message_id) ? 'invalid' : 'answer';
    const engine = await stage.start();
    await until('the good one is stored', () => stage.sent === 1);
    await until('the bad one is told of', () => engine.log.includes('refuses an item'));
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
    expect(performance.now() - from).toBeLessThan(15_000);
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

import { until } from '@gwk/test/support/engine/engine-process';
import type { ScriptedInternalApiOptions } from '@gwk/test/support/engine/scripted-internal-api';
import { Stage } from '@gwk/test/support/engine/stage';
import { IdleCollector } from './small-heap.js';

let stage: Awaited<ReturnType<typeof Stage.openInProcess>>;
const open = async (options: Partial<ScriptedInternalApiOptions> = {}) =>
  (stage = await Stage.openInProcess(options));
afterEach(() => stage.close());

const textOf = (body: string): string =>
  (JSON.parse(Buffer.from(body, 'base64').toString()) as { text: { body: string } }).text.body;
const texts = (): string[] => stage.network.arrivals.map(({ body }) => textOf(body));

describe('sending', () => {
  test('sends waiting messages at the start and notified ones at once, and acknowledges both notifications', async () => {
    const { api, network, redis } = await open();
    const first = api.queue.add('551', 'first');
    await stage.start({ idleClaimMs: 60_000 });
    // The answer to an outcome may also say that more messages wait.
    await until('the first is read', () => api.queue.outcomesOf('receipt').length === 2);
    const second = api.queue.add('552', 'second');
    await stage.notify(second.message_id);
    await until('the second is sent', () => stage.sent === 2);
    expect(network.arrivals).toMatchObject([
      { wa_message_id: first.wa_message_id, chat: '551@s.whatsapp.net', epoch: 1 },
      { wa_message_id: second.wa_message_id, chat: '552@s.whatsapp.net', epoch: 1 },
    ]);
    const bytes = Buffer.from(network.arrivals[0]!.body, 'base64').toString();
    expect(JSON.parse(bytes)).toEqual({ type: 'text', text: { body: 'first' } });
    await until('both are read', () => api.queue.outcomesOf('receipt').length === 4);
    await until(
      'both notifications are acknowledged',
      async () => (await redis.call(['XLEN', stage.sends])) === 0,
    );
  });

  test('sends a conversation in order, one message at a time', async () => {
    const { api, network } = await open();
    let [underWay, most] = [0, 0];
    network.answerAfter = async () => {
      most = Math.max(most, ++underWay);
      await Promise.all(Array.from({ length: 5 }, () => stage.lastConnected()));
      underWay -= 1;
      return 0;
    };
    for (let i = 0; i < 20; i++) api.queue.add('551', `${i}`);
    await stage.start();
    await until('all are sent', () => stage.sent === 20);
    expect(texts()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
    expect(most).toBe(1);
  });

  test('counts as a message, so that an idle engine keeps its code for a while', async () => {
    const { recordMessage: stock } = IdleCollector.prototype as {
      recordMessage: (this: IdleCollector) => void;
    };
    let recorded = 0;
    IdleCollector.prototype.recordMessage = function () {
      recorded++;
      stock.call(this);
    };
    try {
      const { api } = await open();
      await stage.start();
      expect(recorded).toBe(0);
      for (const to of ['551', '552']) api.queue.add(to, 'hello');
      await stage.notify('x');
      await until('both are read', () => api.queue.outcomesOf('receipt').length === 4);
      expect(recorded).toBe(2);
    } finally {
      IdleCollector.prototype.recordMessage = stock;
    }
  });

  test('a slow conversation does not delay others', async () => {
    const { api, network } = await open();
    network.answerAfter = ({ chat }) => (chat.startsWith('999') ? null : 5);
    for (let i = 0; i < 40; i++) api.queue.add('999', 'slow');
    for (let i = 0; i < 100; i++) api.queue.add(`55${i % 10}`, 'quick');
    await stage.start({ ackTimeoutMs: 600_000 });
    await until('all quick ones are sent', () => stage.sent === 100);
    expect(texts().filter((text) => text === 'slow')).toHaveLength(1);
  });

  test('sandbox recipients behave as their last digits say', async () => {
    const { api, network } = await open();
    api.queue.add('55110000', 'not on the network');
    const unread = api.queue.add('55110001', 'never read');
    api.queue.add('55110002', 'fails');
    await stage.start();
    await until('all have a result', () => api.queue.outcomes.length >= 4);
    // Sent later and read later.
    const read = api.queue.add('55110003', 'read');
    await stage.notify(read.message_id);
    const receiptsOf = ({ wa_message_id: id }: { wa_message_id: string }) =>
      api.queue.outcomesOf('receipt').filter(({ wa_message_id }) => wa_message_id === id);
    await until('the next is read', () => receiptsOf(read).length === 2);
    expect(api.queue.outcomesOf('failed')).toMatchObject([
      { error: { code: 'recipient_not_on_whatsapp' } },
      { error: { code: 'wa_error' } },
    ]);
    expect(receiptsOf(unread)).toMatchObject([{ status: 'delivered' }]);
    expect(texts()).toEqual(expect.not.arrayContaining(['not on the network']));
    expect(network.arrivals).toHaveLength(3);
  });
});

describe('messages in their notification', () => {
  test('are sent without a claim, and the notification is acknowledged', async () => {
    const { api, network, redis } = await open();
    await stage.start({ idleClaimMs: 60_000 });
    const claimed = () =>
      api.items<{ message_id: string; claim?: object }>('built', 'messages').filter(({ claim }) => claim);
    // While a claim of the start is in progress, the engine claims these too.
    for (let people = 0; claimed().length < 2; people += 2) {
      const pair = [api.queue.add(`${people}`, 'hello'), api.queue.add(`${people + 1}`, 'hello')];
      await stage.hand(...pair);
      await until('both are sent', () => stage.sent === people + 2);
    }
    expect(new Set(network.arrivals.map(({ wa_message_id }) => wa_message_id)).size).toBe(stage.sent);
    await until('it is acknowledged', async () => (await redis.call(['XLEN', stage.sends])) === 0);
  });

  test('that cannot be claimed are not sent; a claim finds them in their turn', async () => {
    const { api } = await open();
    await stage.start({ idleClaimMs: 60_000 });
    await until('the first claims are answered', () => api.of('claims').length > 0);
    const [first, second] = [api.queue.add('551', 'first'), api.queue.add('551', 'second')];
    const gone = api.queue.add('552', 'gone');
    api.queue.remove(gone.message_id);
    await stage.hand(second, gone);
    await until('both are sent', () => stage.sent === 2);
    expect(texts()).toEqual(['first', 'second']);
    expect(first.built).not.toBeNull();
  });

  test('are claimed after the held message of their conversation, and not before', async () => {
    const { api, network, redis } = await open();
    let answer = (): void => undefined;
    await stage.start({ idleClaimMs: 60_000 });
    await until('the first claims are answered', () => api.of('claims').length > 0);
    network.answerAfter = () => new Promise((resolve) => (answer = () => resolve(0)));
    await stage.hand(api.queue.add('551', 'first'));
    await until('the first is on the network', () => network.arrivals.length === 1);
    const before = api.of('claims').length;
    await stage.hand(api.queue.add('551', 'second'));
    await until('the second is acknowledged', async () => (await redis.call(['XLEN', stage.sends])) === 1);
    expect(api.of('claims')).toHaveLength(before);
    network.answerAfter = () => Promise.resolve(0);
    answer();
    await until('both are sent', () => stage.sent === 2);
    expect(texts()).toEqual(['first', 'second']);
    expect(api.of('claims').length).toBeGreaterThan(before);
  });

  test('of another key are claimed', async () => {
    const { api, redis } = await open();
    await stage.start({ idleClaimMs: 60_000 });
    const message = api.queue.add('551', 'hello');
    await redis.call(['XADD', stage.sends, '*', 'm', message.message_id, 'n', 'AAAA']);
    await until('it is sent', () => stage.sent === 1);
  });

  test('wait in the queue beyond the pacing', async () => {
    const { api } = await open({ messagesPerMinute: 1 });
    await stage.start({ idleClaimMs: 60_000 });
    const messages = ['551', '552'].map((to) => api.queue.add(to, to));
    for (const message of messages) await stage.hand(message);
    await until('one is sent', () => stage.sent === 1);
    expect(messages.filter(({ built }) => built === null)).toHaveLength(1);
  });
});

describe('unconfirmed sends', () => {
  test('resends the same bytes under the same id until one attempt is acknowledged', async () => {
    const { api, network } = await open();
    const message = api.queue.add('551', 'hello');
    network.answerAfter = () => (network.arrivals.length < 3 ? null : 0);
    await stage.start({ ackTimeoutMs: 200 });
    await until('it is sent', () => stage.sent === 1);
    // One more if the acknowledgement is read late.
    expect(network.arrivals.length).toBeGreaterThanOrEqual(3);
    expect(api.queue.outcomesOf('sent')).toHaveLength(1);
    expect(new Set(network.arrivals.map(({ wa_message_id }) => wa_message_id))).toEqual(
      new Set([message.wa_message_id]),
    );
    expect(new Set(network.arrivals.map(({ body }) => body)).size).toBe(1);
  });

  test('accepts a late answer to the first attempt', async () => {
    const { api, network } = await open();
    api.queue.add('551', 'hello');
    network.answerAfter = () => (network.arrivals.length === 1 ? 500 : null);
    await stage.start({ ackTimeoutMs: 200 });
    await until('it is sent', () => stage.sent === 1);
    expect(api.queue.outcomes.filter(({ kind }) => kind !== 'receipt')).toHaveLength(1);
  });

  test('stops resending once the row says no, and continues the conversation', async () => {
    const { api, network } = await open();
    const unconfirmed = api.queue.add('551', 'unconfirmed');
    api.queue.add('551', 'next');
    network.answerAfter = ({ body }) => (textOf(body) === 'unconfirmed' ? null : 0);
    // At the check before the resend, however late its arrival is read.
    api.fault = ({ route }) => {
      if (route === 'built' && api.of('built').length > 1) api.queue.remove(unconfirmed.message_id);
      return 'answer';
    };
    await stage.start({ ackTimeoutMs: 300 });
    await until('the next is sent', () => stage.sent === 1);
    expect(texts()).toEqual(['unconfirmed', 'next']);
  });
});

describe('the internal API', () => {
  test('repeats a claim whose reply was lost under the same claim id, with the next number', async () => {
    const { api, network } = await open();
    api.fault = ({ route }) => (route === 'claims' && api.of('claims').length <= 2 ? 'lose-reply' : 'answer');
    api.queue.add('551', 'hello');
    await stage.start();
    await until('it is sent', () => stage.sent === 1);
    const [first, second, third] = api.of('claims').map(({ body }) => body['claim_id']);
    expect(first).toBe(second);
    expect(second).toBe(third);
    expect(network.arrivals).toHaveLength(1);
    await stage.notify(api.queue.add('551', 'hello again').message_id);
    await until('it is sent', () => stage.sent === 2);
    const numbers = api.of('claims').map(({ body }) => [body['number'], body['repeated']]);
    expect(numbers.slice(0, 4)).toEqual([
      [1, false],
      [2, true],
      [3, true],
      [4, false],
    ]);
  });

  test('stores states and outcomes later and in order after an outage', async () => {
    const { api } = await open({ renewMs: 300 });
    await stage.start();
    let unavailable = true;
    api.fault = ({ route }) => (unavailable && route !== 'claims' && route !== 'built' ? 'hang' : 'answer');
    const message = api.queue.add('551', 'hello');
    await stage.notify(message.message_id);
    // It is answered once its states are stored.
    void stage.command('restart');
    await until('the restart waits to be stored', () => api.of('state').length >= 2);
    await until('the message waits to be stored', () => api.of('outcomes').length >= 1);
    expect(stage.sent).toBe(0);
    api.fault = ({ route }) =>
      unavailable && (route === 'state' || route === 'outcomes') ? 'unavailable' : 'answer';
    api.cutOff();
    const calls = () => [api.of('state').length, api.of('outcomes').length];
    const before = calls();
    await until('both are retried without success', () =>
      calls().every((count, n) => count > before[n]! + 1),
    );
    unavailable = false;
    await until('all is stored', () => stage.sent === 1 && stage.states.length === 4);
    expect(stage.states.slice(-3)).toEqual(['disconnected: restart', 'connecting', 'connected']);
  });

  test('a refused item does not affect the others', async () => {
    const { api } = await open();
    const bad = api.queue.add('551', 'bad');
    api.queue.add('552', 'good');
    api.fault = ({ route, body }) =>
      route === 'outcomes' && JSON.stringify(body).includes(bad.message_id) ? 'invalid' : 'answer';
    const engine = await stage.start();
    await until('the good one is stored', () => stage.sent === 1);
    await until('the refused one is logged', () => engine.log.includes('refused an item'));
  });
});

describe('its lease', () => {
  test('waits for a lease that another engine holds', async () => {
    const { api } = await open();
    api.fault = ({ route }) =>
      route === 'acquire' && api.of('acquire').length < 4 ? 'lease-held' : 'answer';
    await stage.start();
    expect(api.of('acquire')).toHaveLength(4);
  });

  test('requests changed terms at once, and again when a renewal is in progress', async () => {
    const { api } = await open({ renewMs: 60_000 });
    await stage.start();
    const renewals = () => api.of('renew').length;
    const before = renewals();
    expect(await stage.command('renew')).toMatchObject({ ok: true });
    await until('it has renewed', () => renewals() === before + 1);
    let answer = (): void => undefined;
    api.fault = ({ route }) =>
      route === 'renew' ? new Promise((resolve) => (answer = () => resolve('answer'))) : 'answer';
    const asked = Array.from({ length: 3 }, () => stage.command('renew'));
    await until('a renewal is under way', () => renewals() === before + 2);
    api.fault = () => 'answer';
    answer();
    // A command that arrives after the answer causes one more.
    await until('it has renewed again', () => renewals() >= before + 3);
    await Promise.all(asked);
  });
});

test('sends a message once despite further notifications, and acknowledges all of them', async () => {
  const { api, network, redis } = await open();
  let answer = (): void => undefined;
  network.answerAfter = () => new Promise((resolve) => (answer = () => resolve(0)));
  await stage.start();
  const message = api.queue.add('551', 'hello');
  await stage.notify(...Array.from({ length: 10 }, () => message.message_id));
  await until('it is on the network', () => network.arrivals.length === 1);
  await stage.notify(message.message_id, message.message_id);
  answer();
  await until('it is sent', () => stage.sent === 1);
  await stage.notify(message.message_id);
  await until('all are acknowledged', async () => (await redis.call(['XLEN', stage.sends])) === 0);
  expect(network.arrivals).toHaveLength(1);
});

describe('commands', () => {
  test('answers live, restart and logout', async () => {
    await open();
    await stage.start();
    expect(await stage.command('live')).toMatchObject({
      ok: true,
      result: { node_id: 'pod-1', state: 'connected', connected: true, since: stage.changes[0]!.at },
    });
    expect(await stage.command('restart')).toMatchObject({ ok: true });
    await until('it is connected again', () => stage.states.length === 4);
    expect(stage.states.slice(1)).toEqual(['disconnected: restart', 'connecting', 'connected']);
    expect(await stage.command('logout')).toMatchObject({ ok: true });
    expect(stage.states.at(-1)).toBe('pending_pair: logout');
    expect(await stage.command('live')).toMatchObject({
      result: { state: 'pending_pair', connected: false },
    });
    await stage.command('restart');
    expect(await stage.command('live')).toMatchObject({ result: { state: 'pending_pair' } });
    expect(stage.states.at(-1)).toBe('pending_pair: logout');
  });

  test('drops stale, forged and malformed commands', async () => {
    const { redis } = await open();
    await stage.start();
    const forged = { id: 'x', name: 'logout', args: '{}', deadline: '99999999999999', requester: 'test', sig: 'ab'.repeat(32) }; // prettier-ignore
    const reply = await stage.firstReply(async () => {
      await stage.order('logout', { deadline: Date.now() - 60_000 });
      await redis.call(['XADD', stage.commands, '*', ...Object.entries(forged).flat()]);
      await redis.call(['XADD', stage.commands, '*', 'nonsense', '1']);
      await stage.order('live');
    });
    expect(reply).toMatchObject({ ok: true, result: { state: 'connected' } });
    expect(stage.states).toEqual(['connected']);
    expect(await redis.call(['XLEN', stage.commands])).toBe(0);
  });

  test('executes a command from before the start within its deadline', async () => {
    await open();
    const reply = stage.command('live');
    await stage.start();
    expect(await reply).toMatchObject({ ok: true });
  });
});

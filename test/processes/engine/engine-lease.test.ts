import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { EXIT_CODES } from '@gwk/engine-pod/exit-codes';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { EngineProcess, until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedInternalApiOptions } from '../../support/engine/scripted-internal-api.js';

let stage: Stage;
const open = async (options: Partial<ScriptedInternalApiOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

const SHORT = { leaseMs: realTime(2_700), renewMs: 400 };
/** Closes one second before the end, which allows for a busy machine. */
const LONG = { leaseMs: realTime(9_000), renewMs: 400 };
const MARGIN_MS = realTime(1_000);

test.each(['unauthorized', 'gone'] as const)('a lease refused as %s ends the engine', async (refusal) => {
  const { api } = await open();
  api.fault = () => refusal;
  expect(await stage.launch().exited).toBe(EXIT_CODES[refusal]);
});

test.each(['fenced', 'unauthorized', 'gone'] as const)(
  '%s on any call: closes the socket and exits at once',
  async (refusal) => {
    const { api, network } = await open();
    network.answerAfter = () => null;
    api.queue.add('551', 'in flight');
    const engine = await stage.start();
    await until('it has a connection', () => network.arrivals.length === 1);
    let refusedAt: number | undefined;
    api.fault = () => {
      refusedAt ??= performance.now();
      return refusal;
    };
    const message = api.queue.add('552', 'next');
    await stage.notify(message.message_id);
    await until('the socket is closed', async () => (await network.connections()) === 0);
    // A graceful stop would wait 5 s for sends in progress.
    expect(performance.now() - refusedAt!).toBeLessThan(realTime(4_900));
    expect(await engine.exited).toBe(EXIT_CODES[refusal]);
    expect(network.arrivals).toHaveLength(1);
  },
);

/**
 * V8's other threads take memory until they wait for the main one to collect garbage. It makes some all the time,
 * so that they wait most of it.
 */
const GARBAGE =
  'let kept = []; setInterval(() => (kept = Array.from({ length: 1e5 }, (_, i) => ({ i }))), 5)';
const BUSY_V8 = ['--stress-concurrent-allocation', '--import', `data:text/javascript,${GARBAGE}`];

test.each([
  ['refused', EXIT_CODES.fenced],
  ['asked to stop', 0],
])('it ends when it is %s while V8 waits for it', async (how, code) => {
  const { api } = await open({ renewMs: 400 });
  const engine = await stage.start({ nodeArguments: BUSY_V8 });
  if (how === 'refused') api.fault = () => 'fenced';
  else engine.child.kill('SIGTERM');
  expect(await engine.exited).toBe(code);
});

test('closes the socket shortly before the lease ends, not earlier, when the internal API is unreachable', async () => {
  const { api, network } = await open(LONG);
  await stage.start();
  await until('it has renewed', () => api.of('renew').length >= 2);
  const last = Date.now() - (performance.now() - api.of('renew').at(-1)!.at);
  api.fault = () => 'hang';
  await until(
    'its socket is closed',
    async () => (await stage.lastConnected()) < Date.now() - 2 * LONG.renewMs,
  );

  const message = api.queue.add('551', 'meanwhile');
  await stage.notify(message.message_id);
  await pause(300);
  expect(network.arrivals).toHaveLength(0);

  // Unreachable, but it refused nobody: the same engine continues and reports what happened.
  api.fault = () => 'answer';
  await until('it is sent', () => stage.sent === 1);
  await until('all states are stored', () => stage.states.length >= 4);
  expect(stage.states).toEqual(['connected', 'disconnected: lease_unconfirmed', 'connecting', 'connected']);
  const closed = Date.parse(stage.changes[1]!.at) - last;
  // The lease counts from the request, slightly before the answer was received.
  expect(closed).toBeGreaterThan(LONG.leaseMs - MARGIN_MS - realTime(500));
  expect(closed).toBeLessThan(LONG.leaseMs);
});

test('sends nothing after it was stopped past its lease and continued', async () => {
  const { api, network } = await open(SHORT);
  const engine = await stage.start();
  let answerBuilt = (): void => {};
  const held = new Promise<'answer'>((resolve) => (answerBuilt = () => resolve('answer')));
  let fenced = false;
  api.fault = ({ route }) => {
    if (route === 'built') return held;
    return fenced && route === 'renew' ? 'hang' : 'answer';
  };
  const message = api.queue.add('551', 'about to be sent');
  await stage.notify(message.message_id);
  await until('it is about to be sent', () => api.of('built').length === 1);
  engine.child.kill('SIGSTOP');
  fenced = true;
  await pause(SHORT.leaseMs + 300);
  answerBuilt();
  await pause(100);
  engine.child.kill('SIGCONT');
  await until('it gives the message back', () => api.queue.outcomesOf('returned').length === 1);
  await pause(300);
  expect(network.arrivals).toHaveLength(0);
  expect(engine.log).toContain('closing the socket');
});

test('reports all invalid settings at once', async () => {
  await open();
  const engine = new EngineProcess({ internalUrl: 'ftp://nowhere', ackTimeoutMs: 1 });
  expect(await engine.exited).toBe(EXIT_CODES.configuration);
  expect(engine.log).toMatch(/GWK_ENGINE_INTERNAL_URL[^]*GWK_ENGINE_ACK_TIMEOUT_MS/);
});

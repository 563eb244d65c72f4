import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { EXIT_CODES } from '@gwk/engine-pod/exit-codes';
import { addressOf } from '../../support/engine/addresses.js';
import { EngineProcess, until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedPortOptions } from '../../support/engine/scripted-port.js';

let stage: Stage;
const open = async (options: Partial<ScriptedPortOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(addressOf(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

const SHORT = { leaseMs: realTime(2_700), renewMs: 400 };
/** Closes a second before its end: so late may a busy machine be. */
const LONG = { leaseMs: realTime(9_000), renewMs: 400 };
const MARGIN_MS = realTime(1_000);

test.each(['unauthorized', 'gone'] as const)('a lease refused as %s ends the engine', async (refusal) => {
  const { port } = await open();
  port.fault = () => refusal;
  expect(await stage.launch().exited).toBe(EXIT_CODES[refusal]);
});

test.each(['fenced', 'unauthorized', 'gone'] as const)(
  '%s, to any call: the socket closes and the engine exits at once',
  async (refusal) => {
    const { port, network } = await open();
    network.answerAfter = () => null;
    port.queue.add('551', 'in flight');
    const engine = await stage.start();
    await until('it has a connection', () => network.arrivals.length === 1);
    let refusedAt: number | undefined;
    port.fault = () => {
      refusedAt ??= performance.now();
      return refusal;
    };
    const message = port.queue.add('552', 'next');
    await stage.ring(message.message_id);
    await until('the socket is closed', async () => (await network.connections()) === 0);
    // At a stop what is in flight is waited for 5 s.
    expect(performance.now() - refusedAt!).toBeLessThan(realTime(4_900));
    expect(await engine.exited).toBe(EXIT_CODES[refusal]);
    expect(network.arrivals).toHaveLength(1);
  },
);

/**
 * V8's other threads take memory until they have to wait for the main one to collect garbage. It makes some all the time,
 * so that they wait most of it.
 */
const GARBAGE =
  'let kept = []; setInterval(() => (kept = Array.from({ length: 1e5 }, (_, i) => ({ i }))), 5)';
const BUSY_V8 = ['--stress-concurrent-allocation', '--import', `data:text/javascript,${GARBAGE}`];

test.each([
  ['refused', EXIT_CODES.fenced],
  ['asked to stop', 0],
])('it ends when it is %s while V8 waits for it', async (how, code) => {
  const { port } = await open({ renewMs: 400 });
  const engine = await stage.start({ nodeArguments: BUSY_V8 });
  if (how === 'refused') port.fault = () => 'fenced';
  else engine.child.kill('SIGTERM');
  expect(await engine.exited).toBe(code);
});

test('an unreachable port costs the socket shortly before the lease ends and not earlier', async () => {
  const { port, network } = await open(LONG);
  await stage.start();
  await until('it has renewed', () => port.of('renew').length >= 2);
  const last = Date.now() - (performance.now() - port.of('renew').at(-1)!.at);
  port.fault = () => 'hang';
  const isOut = async () => (await stage.heartbeat())?.state === 'disconnected';
  await until('its socket is closed', isOut);

  const message = port.queue.add('551', 'meanwhile');
  await stage.ring(message.message_id);
  await pause(300);
  expect(network.arrivals).toHaveLength(0);

  // It was away and refused nobody: the same engine goes on, and tells what happened.
  port.fault = () => 'answer';
  await until('it is sent', () => stage.sent === 1);
  await until('all is told', () => stage.states.length >= 4);
  expect(stage.states).toEqual(['connected', 'disconnected: lease_unconfirmed', 'connecting', 'connected']);
  const closed = Date.parse(stage.changes[1]!.at) - last;
  // Its lease counts from when it asked, which is a little before that was heard.
  expect(closed).toBeGreaterThan(LONG.leaseMs - MARGIN_MS - realTime(500));
  expect(closed).toBeLessThan(LONG.leaseMs);
});

test('stopped past its lease and continued, it sends nothing', async () => {
  const { port, network } = await open(SHORT);
  const engine = await stage.start();
  let answerBuilt = (): void => {};
  const held = new Promise<'answer'>((resolve) => (answerBuilt = () => resolve('answer')));
  let fenced = false;
  port.fault = ({ route }) => {
    if (route === 'built') return held;
    return fenced && route === 'renew' ? 'hang' : 'answer';
  };
  const message = port.queue.add('551', 'about to be sent');
  await stage.ring(message.message_id);
  await until('it is about to be sent', () => port.of('built').length === 1);
  engine.child.kill('SIGSTOP');
  fenced = true;
  await pause(SHORT.leaseMs + 300);
  answerBuilt();
  await pause(100);
  engine.child.kill('SIGCONT');
  await until('it gives the message back', () => port.queue.outcomesOf('returned').length === 1);
  await pause(300);
  expect(network.arrivals).toHaveLength(0);
  expect(engine.log).toContain('closing the socket');
});

test('wrong settings are told, all at once', async () => {
  await open();
  const engine = new EngineProcess({ internalUrl: 'ftp://nowhere', ackTimeoutMs: 1 });
  expect(await engine.exited).toBe(EXIT_CODES.configuration);
  expect(engine.log).toMatch(/GWK_ENGINE_INTERNAL_URL[^]*GWK_ENGINE_ACK_TIMEOUT_MS/);
});

import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { until, type EngineProcess } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedInternalApiOptions } from '../../support/engine/scripted-internal-api.js';

let stage: Stage;
const open = async (options: Partial<ScriptedInternalApiOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), options));
afterEach(() => stage.close());

const QUEUED = 50_000;
const WARM_UP = 1_000;
const MEGABYTE = 1024 * 1024;

/** The peak memory while a condition holds. */
async function peakWhile(engine: EngineProcess, holds: () => boolean | Promise<boolean>): Promise<number> {
  let peak = engine.rss;
  while (await holds()) {
    peak = Math.max(peak, engine.rss);
    await pause(20);
  }
  return peak;
}

/** Warms up: loads what a first message needs, and reaches the peak of garbage from sends in progress. */
async function warmUp(engine: EngineProcess): Promise<number> {
  for (let i = 0; i < WARM_UP; i++) stage.api.queue.add(`warm${i}`, 'hello');
  await stage.notify('x');
  let peak = 0;
  const warm = () => {
    peak = Math.max(peak, engine.rss);
    return stage.sent >= WARM_UP;
  };
  await until('it is warm', warm);
  await pause(realTime(1_200));
  return peak;
}

test('50,000 messages queued in one conversation, with a notification each, cost less than 10 MB and delay no other', async () => {
  const { api, redis } = await open();
  const engine = await stage.start();
  const warm = await warmUp(engine);

  const conversation = Array.from({ length: QUEUED }, (_, i) => ['XADD', stage.sends, '*', 'm', `m${i}`]);
  api.queue.fill('551', QUEUED, 'one of many');
  // A few at a time: acknowledgements pace a conversation.
  stage.network.answerAfter = ({ chat }) => (chat.startsWith('551@') ? 1_000 : 0);
  await Promise.all(conversation.map((words) => redis.call(words, 60_000)));
  const other = api.queue.add('552', 'another conversation');
  await stage.notify(other.message_id);
  // Each of the many takes a second.
  await until('the other is sent', () => api.queue.outcomesOf('sent').some(({ message_id }) => message_id === other.message_id)); // prettier-ignore

  const waiting = async (): Promise<boolean> => Number(await redis.call(['XLEN', stage.sends])) > 100;
  const peak = await peakWhile(engine, waiting);
  // Both with sends in progress: the amount of garbage at one moment depends on V8.
  expect((peak - warm) / MEGABYTE).toBeLessThan(10);
});

test('50,000 conversations wait in Postgres, not in the engine', async () => {
  const { api, network } = await open({ messagesPerMinute: 60_000, renewMs: 300 });
  const engine = await stage.start();
  const warm = await warmUp(engine);
  api.messagesPerMinute = 600;
  await pause(realTime(1_000));
  network.answerAfter = () => null;
  for (let i = 0; i < QUEUED; i++) api.queue.add(`c${i}`, 'hello '.repeat(20));
  await stage.notify('x');
  const end = performance.now() + realTime(3_000);
  const peak = await peakWhile(engine, () => performance.now() < end);
  expect((peak - warm) / MEGABYTE).toBeLessThan(10);
  expect(network.arrivals.length - WARM_UP).toBeLessThanOrEqual(500);
});

test('an idle engine is small', async () => {
  await open();
  const engine = await stage.start();
  await pause(realTime(500));
  expect(engine.rss / MEGABYTE).toBeLessThan(80);
});

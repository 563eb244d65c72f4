import { pickPort } from '../../support/ports.js';
import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { addressOf } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';

let stage: Stage;
afterEach(() => stage.close());

const QUEUED = 3_000;
/** What an engine holds at most. */
const HELD = 500;
const AWAY_MS = realTime(6_000);
const MEGABYTE = 1024 * 1024;

test('while the API is away what an engine insists on is bounded, and each outcome is told once when it is back', async () => {
  const options = { leaseMs: 120_000, renewMs: 30_000, port: await pickPort() };
  stage = await Stage.open(addressOf(redisUrl()), redisPrefix(), options);
  const { port, network } = stage;
  // Acknowledged only once the API is away.
  network.answerAfter = () => null;
  for (let n = 0; n < QUEUED; n++) port.queue.add(`c${n}`, 'hello');
  const engine = await stage.start({ ackTimeoutMs: 1_000 });
  await until('it holds what it may', () => network.arrivals.length >= HELD);
  const before = engine.rss;
  await port.down();
  network.answerAfter = () => 0;
  const left = () => new Set(network.arrivals.map(({ wa_message_id }) => wa_message_id)).size;
  const end = performance.now() + AWAY_MS;
  let peak = before;
  while (performance.now() < end) {
    peak = Math.max(peak, engine.rss);
    await pause(100);
  }
  expect(left()).toBeLessThanOrEqual(HELD);
  expect(stage.sent).toBe(0);
  expect((peak - before) / MEGABYTE).toBeLessThan(20);

  await port.up();
  await until('all are sent', () => new Set(told()).size === QUEUED);
  expect(told()).toHaveLength(QUEUED);
  expect(left()).toBe(QUEUED);
  const receipts = port.queue.outcomesOf('receipt').map((one) => JSON.stringify(one));
  expect(new Set(receipts).size).toBe(receipts.length);
});

const told = () => stage.port.queue.outcomesOf('sent').map(({ message_id }) => message_id);

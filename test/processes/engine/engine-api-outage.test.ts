import { pickPort } from '../../support/ports.js';
import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { pause, realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';

let stage: Stage;
afterEach(() => stage.close());

const QUEUED = 3_000;
/** Limit of the messages that an engine holds. */
const HELD = 500;
const OUTAGE_MS = realTime(6_000);
const MEGABYTE = 1024 * 1024;

test('limits what it holds while the API is unavailable, and reports each outcome once afterwards', async () => {
  const options = { leaseMs: 120_000, renewMs: 30_000, port: await pickPort() };
  stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), options);
  const { api, network } = stage;
  // Acknowledged only once the API is unavailable.
  network.answerAfter = () => null;
  for (let n = 0; n < QUEUED; n++) api.queue.add(`c${n}`, 'hello');
  const engine = await stage.start({ ackTimeoutMs: 1_000 });
  await until('it holds what it may', () => network.arrivals.length >= HELD);
  const before = engine.rss;
  await api.down();
  network.answerAfter = () => 0;
  const left = () => new Set(network.arrivals.map(({ wa_message_id }) => wa_message_id)).size;
  const end = performance.now() + OUTAGE_MS;
  let peak = before;
  while (performance.now() < end) {
    peak = Math.max(peak, engine.rss);
    await pause(100);
  }
  expect(left()).toBeLessThanOrEqual(HELD);
  expect(stage.sent).toBe(0);
  expect((peak - before) / MEGABYTE).toBeLessThan(20);

  await api.up();
  await until('all are sent', () => new Set(reported()).size === QUEUED);
  expect(reported()).toHaveLength(QUEUED);
  expect(left()).toBe(QUEUED);
  const receipts = api.queue.outcomesOf('receipt').map((one) => JSON.stringify(one));
  expect(new Set(receipts).size).toBe(receipts.length);
});

const reported = () => stage.api.queue.outcomesOf('sent').map(({ message_id }) => message_id);

import { readFileSync } from 'node:fs';
import { percentile } from '../bench/shared/statistics.js';
import { DeliveryWorld } from '../support/api/deliveries.js';
import { Hostile, HOSTILE_KINDS } from '../support/hostile/hostile.js';
import { Receiver, type ReceivedCall } from '../support/gateway/receiver.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';
import { WorkerProcesses } from './worker-process.js';

/** Number of events, and the time over which they are spread. Each endpoint receives each event. */
const EVENTS = 600;
const OVER_MS = 20_000;
const GOOD = ['/one', '/two', '/three'];
/** Limit with the worker's defaults, where an endpoint may take 15 s to respond. */
const IN_TIME_MS = realTime(5_000);
/** A response of 1 GB that is read into memory would exceed this. */
const MAX_RSS_KB = 600_000;

describe('five hostile endpoints beside three good ones', () => {
  let world: DeliveryWorld;
  let workers: WorkerProcesses;
  let hostile: Hostile;
  let receiver: Receiver;
  beforeAll(async () => {
    world = await DeliveryWorld.create();
    workers = new WorkerProcesses(world);
    [hostile, receiver] = await Promise.all([Hostile.start(), Receiver.start()]);
  });
  afterAll(async () => {
    await workers?.close();
    await Promise.all([hostile?.stop(), receiver?.stop()]);
    await world?.close();
  });

  async function register(): Promise<void> {
    for (const kind of HOSTILE_KINDS) await world.addEndpoint(hostile.url(kind));
    for (const path of GOOD) {
      const { secret } = await world.addEndpoint(receiver.url(path));
      await receiver.setSecret(path, secret);
    }
  }

  async function emitSteadily(): Promise<string[]> {
    const events: string[] = [];
    const start = Date.now();
    while (events.length < EVENTS) {
      const due = Math.min(EVENTS, Math.ceil(((Date.now() - start) / OVER_MS) * EVENTS) + 1);
      if (due > events.length) events.push(...(await world.emit(due - events.length)));
      await pause(20);
    }
    return events;
  }

  const latencies = (calls: readonly ReceivedCall[]): number[] =>
    calls.map(({ at, timestamp }) => at - Date.parse(timestamp)).sort((a, b) => a - b);
  const peakMemoryKb = (pid: number): number =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

  test('the good endpoints receive every event once, verified and in time', async () => {
    const { program } = await workers.start();
    await register();
    const events = await emitSteadily();
    const calls = await until(
      async () => {
        const arrived = await receiver.calls();
        return arrived.length >= EVENTS * GOOD.length && arrived;
      },
      { what: 'the good endpoints have every event', everyMs: 100, timeoutMs: realTime(30_000) },
    );
    const waited = latencies(calls);
    const { calls: suffered, bytesSent } = await hostile.calls();
    const peak = peakMemoryKb(program.pid!);
    report('five hostile endpoints, three good ones', {
      events: EVENTS,
      delivered: calls.length,
      medianMs: waited[waited.length >> 1]!,
      p99Ms: percentile(waited, 0.99),
      slowestMs: waited.at(-1)!,
      callsToHostile: Object.values(suffered).reduce((sum, count) => sum + count, 0),
      megabytesFromHostile: Math.round(bytesSent / 1e6),
      workerPeakMb: Math.round(peak / 1_000),
    });
    for (const path of GOOD) {
      const own = calls.filter((call) => call.path === path);
      expect(own.every(({ verified }) => verified)).toBe(true);
      expect(own.map(({ id }) => id).sort()).toEqual([...events].sort());
    }
    expect(percentile(waited, 0.99)).toBeLessThan(IN_TIME_MS);
    expect(Object.keys(suffered).sort()).toEqual([...HOSTILE_KINDS].sort());
    expect(peak).toBeLessThan(MAX_RSS_KB);
  });
});

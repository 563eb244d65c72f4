import type { ReceivedView } from '@gwk/network/control/views';
import { testPhone } from '../../support/gateway/traffic.js';
import { pause } from '../../support/wait.js';
import type { NetworkProcess } from '../engine/network.js';
import { processorTimes } from '../shared/processor.js';
import type { Sender } from './sender.js';

export interface Plan {
  network: NetworkProcess;
  sender: Sender;
  /** Prefix of all texts, which no other measurement uses. */
  name: string;
  contacts: number;
}

/** Nothing new for this long: what was not shown is lost. Longer than an engine needs to be replaced. */
const QUIET_MS = 20_000;
/** The times are those of the network, so they do not depend on how often it is asked. */
const ASK_EVERY_MS = 300;

const now = (): number => performance.timeOrigin + performance.now();

/**
 * Sends texts one after the other, each after the one before was shown on the phone.
 * @returns milliseconds from the request to the phone, for each text
 */
export async function measureOneByOne(
  { network, sender, name, contacts }: Plan,
  count: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const to = testPhone(index % contacts);
    const text = `${name} ${index}`;
    const from = now();
    const shown = network.client.waitReceived({ from: sender.phone, to, text });
    if (!(await sender.send(to, text))) throw new Error(`${sender.name} refused "${text}"`);
    times.push((await shown).at - from);
  }
  return times;
}

export interface Burst {
  /** Texts a second, from the first request to the last text on a phone. */
  perSecond: number;
  refused: number;
  /** Accepted and never shown. */
  lost: number;
  /** Shown more than once. A copy under the same id is shown once. */
  twice: number;
  /** Microseconds of CPU time for each text, by part. Empty if a process ended meanwhile. */
  processor: Map<string, number>;
}

export interface BurstOptions {
  count: number;
  /** Requests in progress at any time. */
  atOnce: number;
  /** Kills the sender after this number of requests. */
  killAt?: number;
}

export async function measureBurst(plan: Plan, { count, atOnce, killAt }: BurstOptions): Promise<Burst> {
  const { network, sender, name, contacts } = plan;
  const processes = { ...sender.processes(), network: network.program.pid };
  const before = processorTimes(processes);
  const accepted = new Set<string>();
  let killed: Promise<void> | undefined;
  let next = 0;
  const from = now();
  const requests = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      if (index === killAt) killed = sender.kill!();
      const text = `${name} ${index}`;
      if (await sender.send(testPhone(index % contacts), text)) accepted.add(text);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, requests));
  await killed;
  const shown = await untilQuiet(plan, accepted);
  const after = processorTimes(processes);
  const times = [...shown.values()].flat().map(({ at }) => at);
  return {
    perSecond: times.length / ((Math.max(...times) - from) / 1000),
    refused: count - accepted.size,
    lost: [...accepted].filter((text) => !shown.has(text)).length,
    twice: [...shown.values()].filter(({ length }) => length > 1).length,
    processor: killed
      ? new Map()
      : new Map([...after].map(([part, us]) => [part, (us - (before.get(part) ?? 0)) / count])),
  };
}

/**
 * Waits until all these texts were shown, or nothing new has been shown for a while. Reading all texts takes the network
 * milliseconds, so it is not asked while new ones arrive. With a short interval, a sender would pay for each gap between its
 * batches.
 */
async function untilQuiet(
  { network, sender, name }: Plan,
  texts: ReadonlySet<string>,
): Promise<Map<string, ReceivedView[]>> {
  let known = -1;
  let quietSince = now();
  for (;;) {
    const { shown } = (await network.client.status()).fates;
    const isNew = shown !== known;
    known = shown;
    if (isNew) quietSince = now();
    else {
      const all = await network.client.received({ from: sender.phone, fate: 'shown' });
      const byText = Map.groupBy(
        all.filter(({ text }) => text?.startsWith(`${name} `)),
        ({ text }) => text!,
      );
      if ([...texts].every((text) => byText.has(text)) || now() - quietSince > QUIET_MS) return byText;
    }
    await pause(ASK_EVERY_MS);
  }
}

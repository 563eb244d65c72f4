import { testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';
import type { NetworkProcess } from './engine/network.js';
import { LinkedInstances } from './shared/linked-instances.js';
import { onNetwork } from './shared/stage.js';
import { progress, setting, settings, Table } from './shared/table.js';
import { processorSeconds } from './shared/processor.js';
import { readMemory } from './shared/usage.js';

/**
 * `make bench-garbage`: what messages that cannot be read cost an engine of a whole gateway, however often they are sent
 * again: its processor for each, its memory at the beginning and at the end, and how long a message of somebody else
 * takes beside them.
 *
 * `MESSAGES` of each round, `STRANGERS` (1,50: one round after the other, each with an engine of its own).
 */
const MESSAGES = setting('MESSAGES', 1_500);
const STRANGERS = settings('STRANGERS', [1, 50]);
/** So many stretches, with a message of somebody else after each. */
const STRETCHES = 5;
const LIMIT_MS = 120_000;
const NEVER = { garbled: 99 };

interface Round {
  /** Microseconds of processor for each, by stretch. */
  processor: number[];
  /** MB: at first, and after each stretch. */
  resident: number[];
  /** Milliseconds from the writing of another's message until it is stored. */
  beside: number[];
  requests: number;
}

async function main(): Promise<void> {
  const table = new Table(`${MESSAGES} messages that cannot be read`, ['median', 'least', 'most']);
  for (const strangers of STRANGERS) {
    const { processor, resident, beside, requests } = await round(strangers);
    const name = strangers === 1 ? 'one stranger' : `${strangers} strangers`;
    table.rounds(`${name}: us of processor for each, of ${STRETCHES} stretches`, processor);
    table.rounds(`${name}: ms for a message of somebody else`, beside);
    table.rounds(`${name}: resident, MB`, resident, 1);
    table.row(`${name}: resident before, after, MB`, [resident[0]!.toFixed(1), resident.at(-1)!.toFixed(1)]);
    table.row(`${name}: requests to send again`, [requests]);
  }
  table.print();
}

const round = (strangers: number): Promise<Round> =>
  onNetwork(async ({ network, numbers, db }) => {
    await numbers.grow(1);
    await network.contacts(strangers + 1);
    const received = () => db.message.count({ where: { direction: 'inbound' } });
    return flood({ network, pid: numbers.enginePids()[0]!, received, strangers });
  });

interface Flooded {
  network: NetworkProcess;
  pid: number;
  received: () => Promise<number>;
  strangers: number;
}

async function flood({ network, pid, received, strangers }: Flooded): Promise<Round> {
  const to = LinkedInstances.phoneOf(0);
  const [friend, ...others] = await Promise.all(
    Array.from({ length: strangers + 1 }, (_, index) => network.client.contact(testPhone(index))),
  );
  // Of what the phone has and the engine cannot read, some is had from the phone: another's is told from it by its time.
  await network.client.call('manners', { number: to, answersDevices: false });
  for (const person of [friend!, ...others]) await person.writes('hello', { to });
  const all = async (count: number, what: string) =>
    until(async () => (await received()) >= count, { what, timeoutMs: LIMIT_MS, everyMs: 5 });
  await all(strangers + 1, 'all have said hello');
  const result: Round = { processor: [], resident: [readMemory(pid).resident], beside: [], requests: 0 };
  const each = Math.ceil(MESSAGES / STRETCHES);
  for (let stretch = 1; stretch <= STRETCHES; stretch++) {
    progress(`${strangers} strangers, stretch ${stretch} of ${STRETCHES}`);
    const before = processorSeconds([pid]);
    for (let n = 0; n < each; n++) await others[n % strangers]!.writes('garbage', { to, options: NEVER });
    const began = performance.now();
    await friend!.writes(`stretch ${stretch}`, { to });
    await all(strangers + 1 + stretch, "another's message is received");
    result.beside.push(performance.now() - began);
    result.processor.push(((processorSeconds([pid]) - before) * 1e6) / each);
    result.resident.push(readMemory(pid).resident);
  }
  result.requests = (await network.client.receipts({ type: 'retry' })).length;
  return result;
}

await main();

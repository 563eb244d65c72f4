import { testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';
import type { NetworkProcess } from './engine/network.js';
import { LinkedInstances } from './shared/linked-instances.js';
import { onNetwork } from './shared/stage.js';
import { progress, setting, settings, Table } from './shared/table.js';
import { processorSeconds } from './shared/processor.js';
import { readMemory } from './shared/usage.js';

/**
 * `make bench-garbage`: the cost of undecryptable messages for an engine of a whole gateway: CPU time per message,
 * memory at the start and end, and the latency of another person's message beside them.
 *
 * Settings: `MESSAGES` per round; `STRANGERS` (1,50: one round for each value, each with its own engine).
 */
const MESSAGES = setting('MESSAGES', 1_500);
const STRANGERS = settings('STRANGERS', [1, 50]);
/** Number of parts, each followed by a message of another person. */
const PARTS = 5;
const LIMIT_MS = 120_000;
const NEVER = { garbled: 99 };

interface Round {
  /** Microseconds of CPU time per message, by part. */
  processor: number[];
  /** Resident MB at first and after each part. */
  resident: number[];
  /** Milliseconds until another person's message is stored. */
  beside: number[];
  requests: number;
}

async function main(): Promise<void> {
  const table = new Table(`${MESSAGES} undecryptable messages`, ['median', 'min', 'max']);
  for (const strangers of STRANGERS) {
    const { processor, resident, beside, requests } = await round(strangers);
    const name = strangers === 1 ? 'one stranger' : `${strangers} strangers`;
    table.rounds(`${name}: us of CPU each, in ${PARTS} parts`, processor);
    table.rounds(`${name}: ms for another person's message`, beside);
    table.rounds(`${name}: resident, MB`, resident, 1);
    table.row(`${name}: resident before, after, MB`, [resident[0]!.toFixed(1), resident.at(-1)!.toFixed(1)]);
    table.row(`${name}: retry requests`, [requests]);
  }
  table.print();
}

const round = (strangers: number): Promise<Round> =>
  onNetwork(async ({ network, instances, db }) => {
    await instances.grow(1);
    await network.contacts(strangers + 1);
    const received = () => db.message.count({ where: { direction: 'inbound' } });
    return flood({ network, pid: instances.enginePids()[0]!, received, strangers });
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
  // The phone must not answer, because messages recovered from it could be mistaken for the other person's message.
  await network.client.call('manners', { number: to, answersDevices: false });
  for (const person of [friend!, ...others]) await person.writes('hello', { to });
  const all = async (count: number, what: string) =>
    until(async () => (await received()) >= count, { what, timeoutMs: LIMIT_MS, everyMs: 5 });
  await all(strangers + 1, 'all have said hello');
  const result: Round = { processor: [], resident: [readMemory(pid).resident], beside: [], requests: 0 };
  const each = Math.ceil(MESSAGES / PARTS);
  for (let part = 1; part <= PARTS; part++) {
    progress(`${strangers} strangers, part ${part} of ${PARTS}`);
    const before = processorSeconds([pid]);
    for (let n = 0; n < each; n++) await others[n % strangers]!.writes('garbage', { to, options: NEVER });
    const began = performance.now();
    await friend!.writes(`part ${part}`, { to });
    await all(strangers + 1 + part, "another's message is received");
    result.beside.push(performance.now() - began);
    result.processor.push(((processorSeconds([pid]) - before) * 1e6) / each);
    result.resident.push(readMemory(pid).resident);
  }
  result.requests = (await network.client.receipts({ type: 'retry' })).length;
  return result;
}

await main();

import { Bare } from './engine/bare.js';
import { measureGrowth } from './engine/growth.js';
import { measureStart, type Start } from './engine/memory.js';
import { measureSends, type Sends } from './engine/sends.js';
import { openStage, type Stage } from './engine/stage.js';
import { setting, Table } from './shared/table.js';

/**
 * `make bench-engine`: the cost of one instance. An engine of a whole gateway (API, worker, operator, Postgres, Redis
 * as processes) on the simulated network, also a process, beside bare Baileys on the same network. Each round measures
 * the engine, bare Baileys with keys in memory, and bare Baileys with a store as slow as the engine's writes to
 * Postgres.
 *
 * Settings: `ROUNDS`; `MESSAGES` per conversation and round; `CONVERSATIONS`; `STARTS` of the engine; `GROWTH`, the
 * number of messages for the memory measurement (100,000 take 17 minutes at 100 messages/s; 0 skips it);
 * `ENGINE_NODE_OPTIONS` for Node in engines.
 */
const ROUNDS = setting('ROUNDS', 3);
const STARTS = setting('STARTS', 3);
const GROWTH = setting('GROWTH', 10_000);
const LOAD = { conversations: setting('CONVERSATIONS', 30), perConversation: setting('MESSAGES', 50) };
const WARM_UP = { ...LOAD, perConversation: 10 };

interface Round {
  engine: Sends;
  memory: number;
  store: number;
}

async function main(): Promise<void> {
  const stage = await openStage(LOAD.conversations);
  try {
    const starts: Start[] = [];
    for (let start = 0; start < STARTS; start++) starts.push(await measureStart(stage));
    const rounds = ROUNDS > 0 ? await measureRounds(stage) : [];
    print(starts, rounds);
    if (GROWTH > 0) await measureGrowth(stage, { messages: GROWTH, conversations: LOAD.conversations });
    const shown = await stage.network.checked();
    console.log(`phones (including copies on own devices) have read ${shown} messages, each once`);
  } finally {
    await stage.close();
  }
}

async function measureRounds(stage: Stage): Promise<Round[]> {
  const bare = await Bare.start(stage.network);
  try {
    const { storeMs } = await measureSends(stage, 'warm-up', WARM_UP);
    await bare.send({ name: 'w', ...WARM_UP, storeMs: 0 });
    await bare.send({ name: 'v', ...WARM_UP, perConversation: 1, storeMs });
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const engine = await measureSends(stage, `round ${round}`, LOAD);
      const memory = await bare.send({ name: `m${round}`, ...LOAD, storeMs: 0 });
      const store = await bare.send({ name: `s${round}`, ...LOAD, storeMs: engine.storeMs });
      rounds.push({ engine, memory, store });
    }
    return rounds;
  } finally {
    await bare.stop();
  }
}

function print(starts: Start[], rounds: Round[]): void {
  const table = new Table(
    `one engine on the simulated network: ${STARTS} starts, ${ROUNDS} rounds of ` +
      `${LOAD.conversations * LOAD.perConversation} messages in ${LOAD.conversations} conversations`,
  );
  const row = <T>(all: T[], name: string, pick: (one: T) => number, digits = 0) =>
    all.length > 0 && table.rounds(name, all.map(pick), digits);
  row(starts, 'start to connected, ms', (s) => s.connectedMs);
  row(starts, 'idle and connected: resident, MB', (s) => s.idle, 1);
  row(starts, '  private (without pages of files), MB', (s) => s.own, 1);
  row(rounds, 'engine, keys in Postgres: messages/s', (r) => r.engine.perSecond);
  row(rounds, '  session write, ms', (r) => r.engine.storeMs, 1);
  row(rounds, '  messages per write', (r) => messagesOf(r.engine), 1);
  row(rounds, 'bare Baileys, keys in memory: messages/s', (r) => r.memory);
  row(rounds, 'bare Baileys, store with the same delay: messages/s', (r) => r.store);
  row(rounds, 'ratio to bare with keys in memory', (r) => r.engine.perSecond / r.memory, 2);
  row(rounds, 'ratio to bare with a store with the same delay', (r) => r.engine.perSecond / r.store, 2);
  table.print();
}

const messagesOf = ({ writes }: Sends): number => (LOAD.conversations * LOAD.perConversation) / writes;

await main();

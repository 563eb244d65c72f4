import { until } from '../support/wait.js';
import { costsBetween, lookAtCosts, type Costs } from './flow/costs.js';
import { setStage, type Stage } from './flow/stage.js';
import { condition } from './shared/condition.js';
import { percentile } from './shared/statistics.js';
import type { Paced, PaceOrder } from './shared/pace-program.js';
import { progress, setting, Table } from './shared/table.js';

/**
 * `make bench-flow`: the highest rate that a whole gateway sustains from the 202 to `sent` with p99 up to 250 ms, over
 * many sandbox engines with all limits and receipts. It probes rates in short rounds, first by steps of 50 %, then by
 * bisection, and holds the highest good rate for `HOLD` seconds, or a lower one if that fails.
 *
 * Settings: `ENGINES`; `CONVERSATIONS` per engine; `HOLD` and `PROBE` in seconds; `START`, the first rate; `RATE` holds
 * this rate without a search. `PROFILE` and `PROFILE_ENGINES` are folders for CPU profiles of the API and the engines.
 */
const ENGINES = setting('ENGINES', 50);
const CONVERSATIONS = setting('CONVERSATIONS', 20);
const HOLD_SECONDS = setting('HOLD', 120);
const PROBE_SECONDS = setting('PROBE', 8);
const START_RATE = setting('START', 100);
const RATE = setting('RATE', 0);
const GOAL_RATE = 500;
const GOAL_MS = 250;
const UP = 1.5;
/** Ends the search between two rates closer than this ratio. */
const FINE = 1.1;
const DOWN = 0.9;
const WARM_UP = { perSecond: RATE > 0 ? Math.min(RATE, 100) : 100, seconds: 5 };
const LIMIT_MS = 600_000;

interface Round {
  perSecond: number;
  sent: number;
  p50: number;
  p99: number;
  accept99: number;
  /** Seconds from the first post to the last, and the costs in that time. */
  span: number;
  costs: Costs;
}

const stage = await setStage({
  engines: ENGINES,
  conversations: CONVERSATIONS,
  nodeOptions: profileInto(process.env['PROFILE']),
  engineOptions: profileInto(process.env['PROFILE_ENGINES']),
});
let accepted = 0;
let runs = 0;
try {
  await measure();
} finally {
  await stage.stop();
}

function profileInto(folder: string | undefined): string {
  return folder ? `--cpu-prof --cpu-prof-dir=${folder}` : '';
}

async function measure(): Promise<void> {
  await run(stage, WARM_UP);
  const tried: Round[] = [];
  let rate = RATE > 0 ? RATE : await findRate(tried);
  let held = await run(stage, { perSecond: rate, seconds: HOLD_SECONDS });
  while (RATE === 0 && !isGood(held)) {
    tried.push(held);
    rate *= DOWN;
    held = await run(stage, { perSecond: rate, seconds: HOLD_SECONDS });
  }
  print(tried, held);
  await checkSums();
}

async function findRate(tried: Round[]): Promise<number> {
  const probe = async (perSecond: number): Promise<boolean> => {
    const round = await run(stage, { perSecond, seconds: PROBE_SECONDS });
    tried.push(round);
    return isGood(round);
  };
  let good = START_RATE;
  let bad = 0;
  while (bad === 0 || bad / good > FINE) {
    const next = Math.round(bad === 0 ? (tried.length === 0 ? good : good * UP) : Math.sqrt(good * bad));
    if (await probe(next)) good = next;
    else if (tried.length === 1) good = next / UP;
    else bad = next;
  }
  return good;
}

function isGood(round: Round): boolean {
  return round.p99 <= GOAL_MS;
}

async function run(
  { load, db }: Stage,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Round> {
  progress(`${perSecond.toFixed(0)} messages/s for ${seconds} s`);
  const before = await lookAtCosts(stage);
  const order: PaceOrder = { perSecond, seconds, name: `run ${++runs}` };
  const began = Date.now();
  const paced = await load.ask<Paced>(order);
  accepted += checkAccepted(paced);
  const span = (Date.now() - began) / 1000;
  const after = await lookAtCosts(stage);
  await until(async () => (await db.outboxEntry.findFirst()) === null, {
    what: 'all messages are sent',
    timeoutMs: LIMIT_MS,
    everyMs: 100,
  });
  const rows = await db.$queryRaw<{ ms: number }[]>`
    SELECT (extract(epoch FROM sent_at - created_at) * 1000)::double precision AS ms FROM messages
    WHERE created_at >= ${new Date(began)} AND sent_at IS NOT NULL`;
  const times = rows.map(({ ms }) => ms);
  return {
    perSecond,
    sent: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    accept99: paced.p99,
    span,
    costs: costsBetween(before, after),
  };
}

function checkAccepted({ posted, statuses }: Paced): number {
  if (statuses['202'] !== posted) {
    const said = stage.gateway.apis[0]!.log()
      .split('\n')
      .filter((line) => /"level":"error"/.test(line));
    throw new Error(`some were not accepted: ${JSON.stringify(statuses)}\n${said.slice(0, 5).join('\n')}`);
  }
  return posted;
}

function print(tried: Round[], held: Round): void {
  const parts = [...held.costs.processor.keys()];
  const columns = ['held s', 'messages', 'p50 ms', 'p99 ms', '202 p99 ms', ...parts];
  const table = new Table(
    `accepted to sent over ${ENGINES} sandbox engines; program columns show the cores used`,
    columns,
  );
  const row = (round: Round, seconds: number) =>
    table.row(`${round.perSecond.toFixed(0)} messages/s`, [
      seconds,
      round.sent,
      ...[round.p50, round.p99, round.accept99].map((ms) => ms.toFixed(0)),
      ...[...round.costs.processor.values()].map((used) => (used / 1e6 / round.span).toFixed(2)),
    ]);
  for (const round of tried)
    row(round, round.sent > 1.5 * PROBE_SECONDS * round.perSecond ? HOLD_SECONDS : PROBE_SECONDS);
  row(held, HOLD_SECONDS);
  table.print();
  printCosts(held);
  const { perSecond, p99 } = held;
  console.log(
    `\nheld: ${perSecond.toFixed(0)} messages/s (${condition(perSecond, { atLeast: GOAL_RATE })}), ` +
      `p99 ${p99.toFixed(0)} ms (${condition(p99, { atMost: GOAL_MS })})`,
  );
}

function printCosts({ perSecond, span, costs }: Round): void {
  const messages = perSecond * span;
  const times = new Table(`CPU time per message at ${perSecond.toFixed(0)} messages/s`, ['ms']);
  for (const [part, used] of costs.processor) times.row(part, [(used / 1e3 / messages).toFixed(2)]);
  times.print();
  const counts = new Table('calls of the internal API by route, and operations of the stores', [
    'per message',
  ]);
  for (const [what, count] of costs.counts) if (count > 0) counts.row(what, [(count / messages).toFixed(2)]);
  counts.print();
}

/** Checks that no message was lost or duplicated: all accepted messages were sent and reached the network once. */
async function checkSums(): Promise<void> {
  const { db, gateway } = stage;
  const sent = await db.message.count({ where: { sentAt: { not: null } } });
  const arrived = await gateway.network.count();
  console.log(`accepted ${accepted}, sent ${sent}, arrived at the network ${arrived}`);
  if (sent !== accepted || arrived !== accepted) throw new Error('the sums do not match');
}

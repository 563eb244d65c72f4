/** Faults of a chaos run and their times. The plan follows from a seed alone, so that a run can be repeated. */
export const STORM = [
  'the engine is killed',
  'the engine is asked to stop',
  'the operator is killed together with the engine',
  'the connection is cut',
  'the network ends the stream (503)',
  'the network is unavailable',
  'the line freezes, then is cut',
] as const;
/** Faults that do not close a good connection. */
export const BACKGROUND = [
  'the line stalls',
  'the API that engines use is killed',
  'the other API is killed',
  'the API that engines use stalls',
  'Redis is killed and loses its data',
  'Postgres is killed',
  'Postgres is restarted',
  'the worker is killed',
] as const;
export type ChaosFault = (typeof STORM)[number] | (typeof BACKGROUND)[number];

export interface PlannedFault {
  /** Time since the start of the run. */
  atMs: number;
  what: ChaosFault;
  /** Duration of the outage. */
  forMs: number;
}

const FIRST_MS = 1_500;
const GAP_MS = { least: 1_500, most: 3_500 };
const OUTAGE_MS = { least: 500, most: 3_000 };
/**
 * An engine backs off longer after each connection lost within a minute of its start. So after a storm, in which each
 * fault occurs once, the plan pauses to let connections grow older.
 */
const CALM_MS = 75_000;

export function planChaos(seed: number, durationMs: number): PlannedFault[] {
  const random = seededRandom(seed);
  const between = ({ least, most }: { least: number; most: number }) =>
    Math.round(least + random() * (most - least));
  const planned: PlannedFault[] = [];
  let atMs = FIRST_MS;
  const deal = (kinds: readonly ChaosFault[]) => {
    for (const what of shuffled(kinds, random)) {
      planned.push({ atMs, what, forMs: between(OUTAGE_MS) });
      atMs += between(GAP_MS);
    }
  };
  while (atMs < durationMs) {
    deal([...STORM, ...BACKGROUND]);
    for (const calmUntil = atMs + CALM_MS; atMs < calmUntil;) deal(BACKGROUND);
  }
  return planned.filter((fault) => fault.atMs < durationMs);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)[0]!);
}

/** Pseudorandom numbers from 0 to 1, derived from the seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

import { query } from '../../support/servers/database.js';
import type { LoadResult } from './load.js';

type Answers = Pick<LoadResult, 'statuses' | 'replayed'>;

interface Sums {
  accepted: number;
  replayed: number;
  /** Responses other than 202. */
  others: number;
}

const WRONG = 'the sums do not match: the run did not measure the intended work';

/** Checks that every request was accepted, every accepted message is stored, and repeats created nothing. */
export async function checkGatewaySums(databaseUrl: string, runs: readonly Answers[]): Promise<void> {
  const { accepted, replayed, others } = sumsOf(runs);
  const [row] = await query<Record<'messages' | 'contacts' | 'sealed' | 'texts', number>>(
    databaseUrl,
    `SELECT (SELECT count(*)::int FROM messages) AS messages, (SELECT count(*)::int FROM contacts) AS contacts,
       (SELECT count(*)::int FROM message_contents) AS sealed, (SELECT count(*)::int FROM mass_sends) AS texts`,
  );
  const { messages, contacts, sealed, texts } = row!;
  console.log(
    `gwk answered 202 ${accepted} times, ${replayed} of them replays, and other statuses ${others} times; ` +
      `stored: ${messages} messages, ${sealed} sealed contents, ${contacts} contacts and counted ${texts} texts to contacts`,
  );
  if (others !== 0 || messages !== accepted - replayed || sealed !== messages) throw new Error(WRONG);
}

/** Checks that the floor stored every request. */
export async function checkFloorSums(floorUrl: string, runs: readonly Answers[]): Promise<void> {
  const { accepted, replayed, others } = sumsOf(runs);
  const [row] = await query<{ messages: number }>(floorUrl, 'SELECT count(*)::int AS messages FROM messages');
  const { messages } = row!;
  console.log(
    `the floor answered 202 ${accepted} times, ${replayed} of them replays, and other statuses ${others} times; ` +
      `it has ${messages} messages`,
  );
  if (others !== 0 || messages !== accepted - replayed) throw new Error(WRONG);
}

function sumsOf(runs: readonly Answers[]): Sums {
  const sum = (pick: (run: Answers) => number) => runs.reduce((total, run) => total + pick(run), 0);
  const accepted = sum(({ statuses }) => statuses['202'] ?? 0);
  const all = sum(({ statuses }) => Object.values(statuses).reduce((a, b) => a + b, 0));
  return { accepted, replayed: sum(({ replayed }) => replayed), others: all - accepted };
}

import { applyStatusUpdates, type MessageUpdates } from '../messages/apply-status.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const GROUP = 200;

/**
 * Doubt ends (design): what began to be sent so long ago and was never acknowledged is `failed` with `timeout`, is
 * never sent again, and the conversation goes on. A later ack or receipt corrects it.
 */
export function unconfirmedSendsJob(deps: JobDependencies, unconfirmedTimeoutMs: number): Job {
  const { db, sealer } = deps;
  return {
    name: 'unconfirmed-sends',
    everyMs: 1_000,
    async pass() {
      const rows = await db.$queryRaw<{ message_id: string }[]>`
        SELECT message_id FROM outbox
        WHERE head AND attempted_at <= now() - ${unconfirmedTimeoutMs}::double precision * interval '1 millisecond'
        LIMIT ${GROUP}::integer`;
      const learnt = rows.map(({ message_id }) => timedOut(message_id));
      let amount = 0;
      const doubted = () => true;
      await applyStatusUpdates(
        { database: db, sealer },
        { messages: learnt, hasClaim: doubted },
        async (changes, events) => {
          const [row] = await db.$queryRaw<{ made: string[] }[]>`
          SELECT gwk_update_messages(${changes}::jsonb, ${events}::jsonb) AS made`;
          amount += row!.made.length;
          return new Set(row!.made);
        },
      );
      return { amount, more: amount === GROUP };
    },
  };
}

function timedOut(messageId: string): MessageUpdates {
  const error = { code: 'timeout' as const, message: null };
  return { place: 1, messageId, updates: [{ kind: 'failed', at: new Date(), error }] };
}

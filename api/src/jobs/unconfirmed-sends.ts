import { applyStatusUpdates, type MessageUpdates } from '../messages/apply-status.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const GROUP = 200;

/**
 * Fails messages with `timeout` whose sending began longer ago than the limit without an acknowledgement. They are never sent
 * again, and the conversation continues. A later acknowledgement or receipt corrects the status.
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
      const updates = rows.map(({ message_id }) => timedOut(message_id));
      let amount = 0;
      const isUnconfirmed = () => true;
      await applyStatusUpdates(
        { database: db, sealer },
        { messages: updates, hasClaim: isUnconfirmed },
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
  return { place: 1, messageId, updates: [{ kind: 'failed', at: new Date().toISOString(), error }] };
}

import type { Queryable } from '../../database/database.js';

export interface ClaimedPreparation {
  message_id: string;
  instance_id: string;
  account_id: string;
  type: string;
  attempts: number;
  content_sealed: Uint8Array | null;
}

interface PreparationCapacity {
  limit: number;
  /** Slots of this worker that one account may use. */
  perAccount: number;
  /** Time after which a claimed message is due again. */
  claimMs: number;
  /** Messages in preparation in this worker, by account. */
  busy: ReadonlyMap<string, number>;
}

/** Claims messages up to the capacity. Accounts with the fewest messages in preparation come first. */
export function claimPreparations(
  db: Queryable,
  { limit, perAccount, claimMs, busy }: PreparationCapacity,
): Promise<ClaimedPreparation[]> {
  return db.$queryRaw<ClaimedPreparation[]>`
    SELECT * FROM gwk_claim_preparations(${limit}::integer, ${perAccount}::integer, ${claimMs}::integer,
      ${[...busy.keys()]}::uuid[], ${[...busy.values()]}::integer[])`;
}

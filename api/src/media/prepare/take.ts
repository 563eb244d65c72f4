import type { Queryable } from '../../database/database.js';

/** A message to prepare. */
export interface Taken {
  message_id: string;
  instance_id: string;
  account_id: string;
  type: string;
  attempts: number;
  content_sealed: Uint8Array | null;
}

export interface Room {
  most: number;
  /** Of the places of this worker. */
  perAccount: number;
  /** When what is taken now is due again. */
  holdMs: number;
  /** What is at work here, by account. */
  busy: ReadonlyMap<string, number>;
}

/** Takes what there is room for; accounts with fewest at work first. */
export function takeUnprepared(db: Queryable, { most, perAccount, holdMs, busy }: Room): Promise<Taken[]> {
  return db.$queryRaw<Taken[]>`
    SELECT * FROM gwk_claim_preparations(${most}::integer, ${perAccount}::integer, ${holdMs}::integer,
      ${[...busy.keys()]}::uuid[], ${[...busy.values()]}::integer[])`;
}

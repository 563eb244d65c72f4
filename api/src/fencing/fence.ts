import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { NumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type { Queryable } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { RefusalError, type LeaseRefusal } from './refusal.js';

/** The pod of the token of a call. */
export interface EngineCaller {
  tokenId: string;
  instanceId: string;
  pod: string;
}

/** A call with its lease; null: of the API itself. */
interface LeaseCall {
  instanceId: string;
  epoch: number | null;
  holder: string | null;
}

/** Writes the arguments instance_ids, epochs and holders of the SQL functions that call gwk_fence. */
export const leaseArrays = (calls: readonly LeaseCall[]): Prisma.Sql => Prisma.sql`
  ${calls.map(({ instanceId }) => instanceId)}::uuid[], ${calls.map(({ epoch }) => epoch)}::integer[],
  ${calls.map(({ holder }) => holder)}::uuid[]`;

/**
 * Verifies epoch and holder of a caller and locks its lease until the end of the transaction. Must be the first statement.
 * @throws RefusalError `fenced` or `gone`
 */
export async function fence(tx: Queryable, instanceId: string, lease: LeaseIdentity): Promise<void> {
  const [row] = await tx.$queryRaw<{ refusal: LeaseRefusal }[]>`
    SELECT (gwk_fence(${leaseArrays([{ ...lease, instanceId }])}))[1] AS refusal`;
  if (row!.refusal) throw new RefusalError(row!.refusal);
}

/**
 * Returns whether a call of an engine is newer than the last one of its route; false for a late repeat. Call it after `fence`, in
 * the same transaction.
 */
export async function inOrder(
  tx: Queryable,
  instanceId: string,
  route: NumberedRoute,
  { epoch, number }: { epoch: number; number: number },
): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ is: boolean }[]>`
    SELECT gwk_advance_call(${instanceId}::uuid, ${route}, ${epoch}::integer, ${number}::bigint) AS "is"`;
  return row!.is;
}

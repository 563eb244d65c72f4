import { fromPublicId } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { maySee, type Caller } from '../accounts/caller.js';
import type { Prisma } from '../generated/prisma/client.js';

/**
 * Reads the instances to which a key or a member is to be restricted. A caller that is itself restricted can give no more
 * than its own.
 * @returns null: not restricted
 * @throws Problem `validation-error` for an instance that the caller cannot see
 */
export async function readRestriction(
  tx: Pick<Prisma.TransactionClient, 'instance'>,
  caller: Caller,
  given: readonly string[] | null,
): Promise<string[] | null> {
  if (given === null) return caller.instances === null ? null : [...caller.instances];
  const ids = given.map((id) => fromPublicId('instance', id) ?? '');
  const rows = await tx.instance.findMany({
    where: { id: { in: ids.filter((id) => id !== '') }, accountId: caller.accountId, deletedAt: null },
    select: { id: true },
  });
  const known = new Set(rows.map(({ id }) => id).filter((id) => maySee(caller, id)));
  const errors = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `instance_ids.${index}`, code: 'unknown', message: 'is no instance' }],
  );
  if (errors.length > 0) throw new Problem('validation-error', { errors });
  return [...known];
}

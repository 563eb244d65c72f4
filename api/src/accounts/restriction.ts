import { fromPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { maySee, type Caller } from './caller.js';
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

/**
 * Checks that a restricted person manages only members and invitations within the own instances.
 * @throws Problem `forbidden`
 */
export function checkReach(
  { instances }: Caller,
  target: { restricted: boolean; instanceIds: readonly string[] },
): void {
  if (instances === null) return;
  if (!target.restricted || target.instanceIds.some((id) => !instances.has(id)))
    throw new Problem('forbidden');
}

/**
 * An account needs somebody who can manage all of it, so owners have all instances.
 * @throws Problem `validation-error`
 */
export function checkOwnerReach(role: string, restricted: boolean): void {
  if (role !== 'owner' || !restricted) return;
  const message = 'must be null for an owner';
  throw new Problem('validation-error', {
    errors: [{ path: 'instance_ids', code: 'restricted-owner', message }],
  });
}

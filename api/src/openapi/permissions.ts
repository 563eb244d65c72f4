import { ROLE_RIGHTS, type Role } from '../roles.js';
import type { Scope } from '@gwk/core/scopes';
import type { Operation } from '../http/operation.js';

interface KeyCaller {
  scopes: readonly Scope[];
  restricted?: boolean;
}
interface MemberCaller {
  role: Role;
  restricted?: boolean;
}

/** Somebody who calls an operation. `stranger`: a person who is signed in and no member of the account. */
export type CallerKind =
  KeyCaller | MemberCaller | 'platform administrator' | 'stranger' | 'portal' | 'nobody';

export const isKey = (caller: CallerKind): caller is KeyCaller =>
  typeof caller === 'object' && 'scopes' in caller;

/** Whether anybody may call the operation, without key and session. */
export const isOpen = ({ person, scope }: Operation): boolean =>
  person === 'anyone' || (person === undefined && scope === null);

/** Whether the server lets a caller use an operation, before it reads ids and input. */
export function mayCall(operation: Operation, caller: CallerKind): boolean {
  const { person } = operation;
  if (isOpen(operation)) return true;
  if (person === 'portal' || caller === 'portal' || caller === 'nobody') return person === caller;
  if (person === 'platform-admin') return caller === 'platform administrator';
  if (person === 'signed-in') return !isKey(caller);
  return caller !== 'stranger' && mayCallInAccount(operation, caller);
}

function mayCallInAccount(
  { person, scope, orScope, unrestricted }: Operation,
  caller: KeyCaller | MemberCaller | 'platform administrator',
): boolean {
  const member = caller === 'platform administrator' ? { role: 'owner' as const } : caller;
  if (unrestricted && member.restricted) return false;
  if (isKey(member)) return person === undefined && hasRight(member.scopes);
  const { scopes, permissions } = ROLE_RIGHTS[member.role];
  return hasRight([...scopes, ...permissions]);

  function hasRight(rights: readonly string[]): boolean {
    return [person ?? scope, orScope].some((right) => right && rights.includes(right));
  }
}

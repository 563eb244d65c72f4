import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { AccountAccess } from '../session/session-api';

export type Role = AccountAccess['role'];

const ROLES: readonly Role[] = ['owner', 'admin', 'developer', 'agent', 'viewer'];

/** Whether the user may manage a member or an invitation: a restricted user only within the own numbers. */
export const reaches = (
  access: AccountAccess,
  { instance_ids: given }: { instance_ids: string[] | null },
): boolean =>
  access.instance_ids === null ||
  (given !== null && given.every((instance) => access.instance_ids!.includes(instance)));

/** The roles that the user may give; only owners make owners. */
export function useRoleOptions(): { value: Role; label: string }[] {
  const { t } = useTranslation();
  const { can } = useAccount();
  return ROLES.filter((role) => role !== 'owner' || can('owners:write')).map((role) => ({
    value: role,
    label: t(`team.roles.${role}.name`),
  }));
}

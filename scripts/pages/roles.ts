import { renderTable } from './table.ts';
import { PERMISSIONS, ROLE_RIGHTS, ROLES } from '@gwk/api/roles';
import { SCOPES } from '@gwk/core/scopes';

/** Renders the table of docs/console.md. */
export function renderRoles(): string {
  const rows = [...SCOPES, ...PERMISSIONS].map((right) => [
    `\`${right}\``,
    ...ROLES.map((role) => {
      const { scopes, permissions } = ROLE_RIGHTS[role];
      return [...scopes, ...permissions].includes(right) ? 'yes' : '';
    }),
  ]);
  return renderTable(['Right', ...ROLES], rows);
}

import { renderTable } from './markdown-table.js';
import { PERMISSIONS, ROLE_RIGHTS, ROLES } from './roles.js';
import { SCOPES } from './scopes.js';

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

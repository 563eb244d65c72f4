import type { Operation } from '@gwk/api/http/operation';
import { mayCall, type CallerKind } from '@gwk/api/openapi/permissions';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@gwk/api/public-api/operations';
import { ROLES } from '@gwk/api/roles';
import { renderTable } from './table.ts';

const COLUMNS: readonly [name: string, caller: CallerKind][] = [
  ...ROLES.map((role): [string, CallerKind] => [role, { role }]),
  ['restricted admin', { role: 'admin', restricted: true }],
  ['platform administrator', 'platform administrator'],
  ['nobody', 'nobody'],
];

/** Renders the tables of docs/permissions.md: operations of keys, then those of the console. */
export const renderPermissions = (): string =>
  [OPERATIONS, CONSOLE_OPERATIONS].map(renderOperations).join('\n');

function renderOperations(operations: readonly Operation[]): string {
  const rows = operations.map((operation) => [
    `\`${operation.method} ${operation.path}\``,
    nameRights(operation),
    ...COLUMNS.map(([, caller]) => (mayCall(operation, caller) ? 'yes' : '')),
  ]);
  return renderTable(['Operation', 'Right', ...COLUMNS.map(([name]) => name)], rows);
}

function nameRights({ person, scope, orScope, unrestricted }: Operation): string {
  const rights = [person ?? scope ?? 'anyone', orScope].filter((right) => right !== undefined);
  return rights.map((right) => `\`${right}\``).join(' or ') + (unrestricted ? ', all instances' : '');
}

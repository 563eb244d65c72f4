import { PERMISSIONS, ROLE_RIGHTS, ROLES } from './roles.js';
import { SCOPES } from '@gwk/core/scopes';

test('an owner may do everything', () => {
  expect(ROLE_RIGHTS.owner).toEqual({ scopes: SCOPES, permissions: PERMISSIONS });
});

test('no role has a right that the role above it lacks, except that agents send and viewers read webhooks', () => {
  const lacking = ROLES.slice(1).flatMap((role, index) => {
    const above = ROLE_RIGHTS[ROLES[index]!];
    const { scopes, permissions } = ROLE_RIGHTS[role];
    return [
      ...scopes.filter((scope) => !above.scopes.includes(scope)),
      ...permissions.filter((permission) => !above.permissions.includes(permission)),
    ].map((right) => `${role} ${right}`);
  });
  expect(lacking).toEqual(['viewer webhooks:read']);
});

test('a viewer changes nothing', () => {
  const { scopes, permissions } = ROLE_RIGHTS.viewer;
  expect([...scopes, ...permissions].filter((right) => !right.endsWith(':read'))).toEqual([]);
});

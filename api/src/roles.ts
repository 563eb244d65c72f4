import { SCOPES, type Scope } from '@gwk/core/scopes';

/** Roles of the members of an account, the most powerful first. */
export const ROLES = ['owner', 'admin', 'developer', 'agent', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Rights in the console that no API key has. */
export const PERMISSIONS = [
  'overview:read',
  'keys:write',
  'members:read',
  'members:write',
  'owners:write',
  'account:read',
  'account:write',
  'alerts:write',
  'audit:read',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

interface RoleRights {
  scopes: readonly Scope[];
  permissions: readonly Permission[];
}

/** The table of roles. Routes, the console, docs/console.md and tests derive from it. */
export const ROLE_RIGHTS: Readonly<Record<Role, RoleRights>> = {
  owner: { scopes: SCOPES, permissions: PERMISSIONS },
  admin: {
    scopes: SCOPES,
    permissions: PERMISSIONS.filter((permission) => permission !== 'owners:write'),
  },
  developer: {
    scopes: [
      'instances:read',
      'messages:send',
      'messages:read',
      'media:write',
      'webhooks:read',
      'webhooks:write',
      'events:read',
    ],
    permissions: ['overview:read', 'keys:write', 'account:read'],
  },
  agent: {
    scopes: ['instances:read', 'messages:send', 'messages:read', 'media:write', 'events:read'],
    permissions: ['overview:read', 'account:read'],
  },
  viewer: {
    scopes: ['instances:read', 'messages:read', 'webhooks:read', 'events:read'],
    permissions: ['overview:read', 'account:read'],
  },
};

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text);

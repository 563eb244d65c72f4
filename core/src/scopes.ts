/** Scopes of API keys. */
export const SCOPES = [
  'instances:read',
  'instances:write',
  'messages:send',
  'messages:read',
  'media:write',
  'webhooks:read',
  'webhooks:write',
  'events:read',
] as const;
export type Scope = (typeof SCOPES)[number];

export const API_KEY_PREFIX = 'gwk_live_';

import type { EngineRoute } from './engine.js';

/**
 * The routes of engines whose calls are numbered, because their order matters (see `Numbered` in engine.ts). Separate
 * from the schemas, because engines use it and must not load zod.
 */
const NUMBERED = [
  'claims',
  'names',
  'pairing',
  'restricted',
  'state',
  'session-write',
] as const satisfies readonly EngineRoute[];
export type NumberedRoute = (typeof NUMBERED)[number];

export const isNumberedRoute = (route: EngineRoute): route is NumberedRoute =>
  (NUMBERED as readonly EngineRoute[]).includes(route);

import type { EngineRoute } from './engine.js';

/**
 * The calls of engines whose order matters (see `Numbered` of engine.ts). Apart from the schemas: an engine asks this of
 * every call, and must not load zod for it.
 */
const NUMBERED = [
  'claims',
  'pairing',
  'restricted',
  'state',
  'session-write',
] as const satisfies readonly EngineRoute[];
export type NumberedRoute = (typeof NUMBERED)[number];

export const isNumberedRoute = (route: EngineRoute): route is NumberedRoute =>
  (NUMBERED as readonly EngineRoute[]).includes(route);

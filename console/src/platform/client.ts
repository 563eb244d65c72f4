import { getClient } from '../api/client';
import type { components } from '../generated/api';

/** Operations of the platform belong to no account. */
export const platformApi = getClient(null);

export type PlatformAccount = components['schemas']['PlatformAccountOut'];
export type AccountLimit = keyof PlatformAccount['limits'];

export const LIMITS: readonly AccountLimit[] = [
  'instances',
  'media_bytes',
  'media_files',
  'event_bytes',
  'requests_per_minute',
];

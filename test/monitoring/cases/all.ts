import type { AlertCase } from './alert-case.js';
import { MESSAGES } from './messages.js';
import { INSTANCES } from './instances.js';
import { PROGRAMS } from './programs.js';
import { STORES } from './stores.js';
import { WEBHOOKS } from './webhooks.js';

export const ALERT_CASES: readonly AlertCase[] = [
  ...INSTANCES,
  ...MESSAGES,
  ...WEBHOOKS,
  ...PROGRAMS,
  ...STORES,
];

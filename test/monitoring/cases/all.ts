import type { AlertCase } from './alert-case.js';
import { MESSAGES } from './messages.js';
import { NUMBERS } from './numbers.js';
import { PROGRAMS } from './programs.js';
import { STORES } from './stores.js';
import { WEBHOOKS } from './webhooks.js';

export const ALERT_CASES: readonly AlertCase[] = [
  ...NUMBERS,
  ...MESSAGES,
  ...WEBHOOKS,
  ...PROGRAMS,
  ...STORES,
];

import { eventOperations } from '../events/operations.js';
import { instanceOperations } from '../instances/operations.js';
import { policyOperations } from '../instances/policy.js';
import { messageOperations } from '../messages/operations.js';
import { webhookOperations } from '../webhooks/operations.js';
import type { Operation } from './operation.js';

/** The table of operations. Routes are tried in this order: the busiest stand first. */
export const OPERATIONS: readonly Operation[] = [
  ...messageOperations,
  ...instanceOperations,
  ...policyOperations,
  ...eventOperations,
  ...webhookOperations,
];

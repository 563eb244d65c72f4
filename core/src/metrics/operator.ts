import { counter, gauge } from './metric.js';

/** Metrics of `gwk operator` with any cluster. */
export const OPERATOR_METRICS = {
  instances: gauge('gwk_operator_instances', 'Known Instance resources.'),
  queueDepth: gauge('gwk_operator_queue_depth', 'Instances queued for reconciliation or being reconciled.'),
  apiUnresponsive: gauge(
    'gwk_operator_api_unresponsive_seconds',
    'Time since the API last answered this operator. 0 if this operator is not the leader.',
  ),
  invalidManifests: gauge(
    'gwk_operator_invalid_manifests',
    'Instance resources that the operator ignores because they are invalid.',
  ),
  rollout: gauge(
    'gwk_operator_rollout',
    'Instances being upgraded to the current engine version (moving), or waiting for it (waiting).',
    ['state'],
  ),
  pods: gauge('gwk_operator_pods', 'Instances by pod phase.', ['phase']),
  conditions: gauge('gwk_operator_conditions', 'Instances by condition type and status.', ['type', 'status']),
  crashLoops: gauge(
    'gwk_operator_crash_loops',
    'Instances whose engine recently exited three or more times in a row, each time soon after its start.',
  ),
  reconciles: counter(
    'gwk_operator_reconciles_total',
    'Reconciliations of an instance, by result and cause: a change of resource or pod (event), a change reported by the API (facts), a turn in an upgrade (turn), every 5 minutes (resync), a time set by a decision (recheck), a failure (retry).',
    ['result', 'cause'],
  ),
  engineExits: counter(
    'gwk_operator_engine_exits_total',
    'Engine exits, by whether the operator requested them.',
    ['requested'],
  ),
} as const;

/** Metrics of `gwk operator` on Kubernetes. */
export const KUBERNETES_METRICS = {
  requests: counter(
    'gwk_operator_kubernetes_requests_total',
    'Calls to the Kubernetes API. Code 0: no response.',
    ['verb', 'resource', 'code'],
  ),
  leader: gauge('gwk_operator_leader', '1 if this operator is the leader.'),
  watchAge: gauge('gwk_operator_watch_age_seconds', 'Longest time for which a watch has received no data.'),
  watchFailures: counter('gwk_operator_watch_failures_total', 'Watches that failed.'),
  watchLists: counter('gwk_operator_watch_lists_total', 'List requests to the Kubernetes API.'),
} as const;

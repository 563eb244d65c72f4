import { counter, gauge } from './metric.js';

/** Metrics of `gwk operator` with any cluster. */
export const OPERATOR_METRICS = {
  instances: gauge({ name: 'gwk_operator_instances', help: 'Known Instance resources.' }),
  queueDepth: gauge({
    name: 'gwk_operator_queue_depth',
    help: 'Instances queued for reconciliation or being reconciled.',
  }),
  apiUnresponsive: gauge({
    name: 'gwk_operator_api_unresponsive_seconds',
    help: 'Time since the API last answered this operator. 0 if this operator is not the leader.',
  }),
  invalidManifests: gauge({
    name: 'gwk_operator_invalid_manifests',
    help: 'Manifests or resources that the operator ignores because they are invalid.',
  }),
  rollout: gauge({
    name: 'gwk_operator_rollout',
    help: 'Instances being upgraded to the current engine version (moving), or waiting for it (waiting).',
    labelNames: ['state'],
  }),
  pods: gauge({
    name: 'gwk_operator_pods',
    help: 'Instances by pod phase.',
    labelNames: ['phase'],
  }),
  conditions: gauge({
    name: 'gwk_operator_conditions',
    help: 'Instances by condition type and status.',
    labelNames: ['type', 'status'],
  }),
  crashLoops: gauge({
    name: 'gwk_operator_crash_loops',
    help: 'Instances whose engine recently exited three or more times in a row, each time soon after its start.',
  }),
  reconciles: counter({
    name: 'gwk_operator_reconciles_total',
    help: 'Reconciliations of an instance, by result.',
    labelNames: ['result'],
  }),
  engineExits: counter({
    name: 'gwk_operator_engine_exits_total',
    help: 'Engine exits, by whether the operator requested them.',
    labelNames: ['requested'],
  }),
} as const;

/** Metrics of `gwk operator` on Kubernetes. */
export const KUBERNETES_METRICS = {
  requests: counter({
    name: 'gwk_operator_kubernetes_requests_total',
    help: 'Calls to the Kubernetes API. Code 0: no response.',
    labelNames: ['verb', 'resource', 'code'],
  }),
  leader: gauge({ name: 'gwk_operator_leader', help: '1 if this operator is the leader.' }),
  watchAge: gauge({
    name: 'gwk_operator_watch_age_seconds',
    help: 'Longest time for which a watch has received no data.',
  }),
  watchFailures: counter({
    name: 'gwk_operator_watch_failures_total',
    help: 'Watches that failed.',
  }),
  watchLists: counter({
    name: 'gwk_operator_watch_lists_total',
    help: 'List requests to the Kubernetes API.',
  }),
} as const;

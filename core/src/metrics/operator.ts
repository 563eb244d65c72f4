import { counter, gauge } from './metric.js';

/** Of `gwk operator`. What is between it and a Kubernetes API is zero or absent on one machine. */
export const OPERATOR_METRICS = {
  instances: gauge({ name: 'gwk_operator_instances', help: 'Instance resources known.' }),
  queueDepth: gauge({
    name: 'gwk_operator_queue_depth',
    help: 'Instances waiting for a pass or in one.',
  }),
  apiUnresponsive: gauge({
    name: 'gwk_operator_api_unresponsive_seconds',
    help: 'Since the API last answered an observation; 0 where this operator does not lead.',
  }),
  invalidManifests: gauge({
    name: 'gwk_operator_invalid_manifests',
    help: 'Manifests or resources of which nothing is used.',
  }),
  rollout: gauge({
    name: 'gwk_operator_rollout',
    help: 'Instances on their way to the present version of the engine, and those that wait for their turn.',
    labelNames: ['state'],
  }),
  pods: gauge({
    name: 'gwk_operator_pods',
    help: 'Instances by the phase of their pod.',
    labelNames: ['phase'],
  }),
  conditions: gauge({
    name: 'gwk_operator_conditions',
    help: 'Instances by condition and its status.',
    labelNames: ['type', 'status'],
  }),
  crashLoops: gauge({
    name: 'gwk_operator_crash_loops',
    help: 'Instances whose engine has ended three times or more in a row, each time soon after its start, and lately.',
  }),
  reconciles: counter({
    name: 'gwk_operator_reconciles_total',
    help: 'Passes over one instance, by result.',
    labelNames: ['result'],
  }),
  engineExits: counter({
    name: 'gwk_operator_engine_exits_total',
    help: 'Engines that ended, by whether they were asked to.',
    labelNames: ['requested'],
  }),
} as const;

/** Of `gwk operator` on Kubernetes. */
export const KUBERNETES_METRICS = {
  requests: counter({
    name: 'gwk_operator_kubernetes_requests_total',
    help: 'Calls of the Kubernetes API; code 0 is one without an answer.',
    labelNames: ['verb', 'resource', 'code'],
  }),
  leader: gauge({ name: 'gwk_operator_leader', help: '1 where this operator leads.' }),
  watchAge: gauge({
    name: 'gwk_operator_watch_age_seconds',
    help: 'Since the quietest watch last said anything.',
  }),
  watchFailures: counter({
    name: 'gwk_operator_watch_failures_total',
    help: 'Watches that broke.',
  }),
  watchLists: counter({
    name: 'gwk_operator_watch_lists_total',
    help: 'Lists of resources that were asked for.',
  }),
} as const;

import type { Place } from '../desired-state/desired-state.js';

/** Labels and annotations of an engine's pod. */
export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  name: 'app.kubernetes.io/name',
  version: 'app.kubernetes.io/version',
  /** Name of the resource. */
  instance: 'gwk.dev/instance',
  /** Id of the instance in the API. */
  instanceId: 'gwk.dev/instance-id',
} as const;

export const MANAGED_BY = 'gwk-operator';
export const COMPONENT = 'engine';
export const ENGINE_SELECTOR = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${COMPONENT}`;

export const ANNOTATIONS = {
  /** The engine's own name, which is never reused. The engine holds its lease under it. */
  engine: 'gwk.dev/engine',
  /** Uid of the resource that the pod was created for. */
  uid: 'gwk.dev/instance-uid',
  /** Template the pod was created from, to detect changes without guessing defaults. */
  template: 'gwk.dev/template',
} as const;

/** Field managers of the operator's writes: resources, their status, pods and Secrets. */
export const FIELD_MANAGERS = {
  resource: 'gwk-operator',
  status: 'gwk-operator-status',
  objects: 'gwk-operator-engines',
} as const;

/** Name of the only pod of a resource. The API server gives a name once, so it is the mutex. */
export const buildPodName = (resourceName: string): string => `gwk-${resourceName}`;

export function parseKey(key: string): Place {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

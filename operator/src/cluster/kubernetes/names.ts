/** How the pod of an engine is labelled, and what it remembers of how it was made. */
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
  /** The engine's own name, which no other ever has; it holds the lease under it. */
  engine: 'gwk.dev/engine',
  /** The uid of the resource that it was made for. */
  uid: 'gwk.dev/instance-uid',
  /** What it was made from, so that a change of it is found without guessing at defaults. */
  template: 'gwk.dev/template',
} as const;

/** What the operator writes is owned under these names: of resources, of their status, of pods and secrets. */
export const FIELD_MANAGERS = {
  resource: 'gwk-operator',
  status: 'gwk-operator-status',
  objects: 'gwk-operator-engines',
} as const;

/** The one pod of a resource: the API server gives a name once, so it is the mutex. */
export const buildPodName = (resourceName: string): string => `gwk-${resourceName}`;

export interface Place {
  namespace: string;
  name: string;
}

export function parseKey(key: string): Place {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

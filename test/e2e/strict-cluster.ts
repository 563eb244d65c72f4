import type { KubeObject } from '../support/kubernetes/test-cluster.js';

/**
 * Rules of strict clusters, in the namespace of the gateway: users of a range that the cluster assigns (as OpenShift
 * does), a quota that requires requests and limits of every container, and a service mesh that lets Jobs end only
 * without its proxy.
 */

const FIRST_USER = 1000680000;
const LAST_USER = 1000689999;
export const MESH_LABEL = { 'mesh.test/inject': 'false' };

const PODS = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
};
const ADMISSION = 'admissionregistration.k8s.io/v1';

const ASSIGN = `Object{spec: Object.spec{securityContext: Object.spec.securityContext{
  runAsUser: object.spec.?securityContext.?runAsUser.orValue(${FIRST_USER}),
  fsGroup: object.spec.?securityContext.?fsGroup.orValue(${FIRST_USER})}}}`;

const isInRange = (id: string): string => `(${id} >= ${FIRST_USER} && ${id} <= ${LAST_USER})`;
const optional = (context: string, id: string): string =>
  isInRange(`${context}.?securityContext.?${id}.orValue(${FIRST_USER})`);
const CONTAINERS = ['containers', 'initContainers']
  .map((list) => `object.spec.?${list}.orValue([]).all(c, ${optional('c', 'runAsUser')})`)
  .join(' && ');
/** A pod of a Job or of `helm test`. */
const ENDS = `('batch.kubernetes.io/job-name' in object.metadata.?labels.orValue({})
  || object.metadata.name.startsWith('helm-test'))`;

const bindTo = (namespace: string, kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion: ADMISSION,
  kind: `${kind}Binding`,
  metadata: { name },
  spec: {
    policyName: name,
    ...spec,
    matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
  },
});

/** @returns the rules, in the order in which they are created */
export function buildRules(namespace: string): KubeObject[] {
  const users = `users-${namespace}`;
  const assigned = `assigned-users-${namespace}`;
  return [
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'all', namespace },
      spec: {
        hard: { 'requests.cpu': '8', 'requests.memory': '8Gi', 'limits.cpu': '64', 'limits.memory': '32Gi' },
      },
    },
    {
      apiVersion: ADMISSION,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: assigned },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: PODS,
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: ASSIGN } }],
      },
    },
    bindTo(namespace, 'MutatingAdmissionPolicy', assigned),
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: users },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: PODS,
        validations: [
          {
            expression: ['runAsUser', 'fsGroup'].map((id) => optional('object.spec', id)).join(' && '),
            message: 'an id of the pod is out of range',
          },
          { expression: CONTAINERS, message: 'an id of a container is out of range' },
          {
            expression: `!${ENDS} || object.metadata.?labels['mesh.test/inject'].orValue('') == 'false'`,
            message: 'the proxy of the mesh would keep this pod from ending',
          },
        ],
      },
    },
    bindTo(namespace, 'ValidatingAdmissionPolicy', users, { validationActions: ['Deny'] }),
  ];
}

/** Requests and limits that every container needs under the quota. */
export const limited = (memory: string): object => ({
  requests: { cpu: '10m', memory: '64Mi' },
  limits: { cpu: '2', memory },
});

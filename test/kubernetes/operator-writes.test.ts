import { buildEngine } from '../support/chart/engine-pod.js';
import { find, MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';

const MANAGED = { 'app.kubernetes.io/managed-by': 'gwk-operator' };
const VALUES = {
  ...MINIMAL_VALUES,
  proxy: { existingSecret: 'way-out' },
  networkPolicy: { proxy: [{ ipBlock: { cidr: '192.0.2.1/32' } }] },
  engine: { profiles: { default: {}, meshed: { serviceAccountName: 'engines' } } },
};
const ONLY_OWN = 'the operator may write only its own Secrets and pods';
const ONLY_MOUNTS = 'may mount only the Secret of their engine and that of the proxy';
const NO_VARIABLES = 'may have no environment variables from Secrets';
const NOT_NODE = 'may not use namespaces or ports of the node, or choose the node';
const LIMITED = 'may have only the privileges of the engine profiles';
const ONLY_ACCOUNTS = 'may use only the service accounts of the engine profiles';

const MERGE = 'application/merge-patch+json';

type Spec = Record<string, unknown> & {
  containers: Record<string, unknown>[];
  volumes: Record<string, unknown>[];
};

/** The policy of the chart restricts what the operator may write, here on a real API server. */
describeOnKubernetes(
  'writes of the operator',
  (cluster) => {
    let namespace: string;
    let token: string;
    const path = (plural: string, name = '') => `/api/v1/namespaces/${namespace}/${plural}/${name}`;
    const call = (method: string, to: string, body: unknown, type = 'application/json') =>
      cluster().call(method, to, { token, type, ...(body !== null && { body }) });
    const secret = (name: string, more: object = {}) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, ...more },
      stringData: { key: 'value' },
    });

    beforeAll(async () => {
      namespace = await cluster().namespace('writes');
      // Here the policy alone refuses pods.
      const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' };
      await cluster().merge(`/api/v1/namespaces/${namespace}`, { metadata: { labels } });
      const objects = render(VALUES, { namespace });
      const granted = await grantedTo(cluster(), objects, { namespace, account: 'gwk-operator' });
      ({ token } = granted);
      granted.done();
      await cluster().applied(secret('databases'));
      await cluster().applied(secret('gwk-shop-0a1b2c3d4e', { labels: { ...MANAGED, foreign: 'x' } }));
      await cluster().post(path('serviceaccounts'), { metadata: { name: 'engines' } });
      await cluster().post(path('serviceaccounts'), { metadata: { name: 'strong' } });
      await until(
        async () => (await call('DELETE', path('secrets', 'databases') + '?dryRun=All', null)).status === 422,
        {
          what: 'the policy is enforced',
        },
      );
    });

    test.each<[what: string, query: string, type: string, body: unknown]>([
      ['an empty merge patch', '', MERGE, {}],
      ['an empty strategic patch', '', 'application/strategic-merge-patch+json', {}],
      ['an empty JSON patch', '', 'application/json-patch+json', []],
      ['a patch that adds the label', '', MERGE, { metadata: { labels: MANAGED } }],
      // The API server answers with the patched object before it asks admission.
      ['a patch to a wrong type', '', MERGE, { data: { x: 5 } }],
      ['a patch with an unknown field', '?fieldValidation=Strict', MERGE, { nope: 1 }],
      [
        'a JSON patch to a wrong type',
        '',
        'application/json-patch+json',
        [{ op: 'add', path: '/data/x', value: 5 }],
      ],
      [
        'a server-side apply',
        '?fieldManager=x&force=true',
        'application/apply-patch+yaml',
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'databases', labels: MANAGED } },
      ],
    ])('has no right to %s of a Secret, and the answer does not contain it', async (_, query, type, body) => {
      const { status, body: answer } = await call('PATCH', path('secrets', 'databases') + query, body, type);
      expect(JSON.stringify(answer)).not.toContain(Buffer.from('value').toString('base64'));
      expect(status).toBe(403);
    });

    test('a deletion of a foreign Secret is refused', async () => {
      const { status, body } = await call('DELETE', path('secrets', 'databases'), null);
      expect([status, body.message]).toEqual([422, expect.stringContaining(ONLY_OWN)]);
      expect((await cluster().get(path('secrets', 'databases'))).status).toBe(200);
    });

    test('its own Secrets can be created and deleted, and a deletion does not show them', async () => {
      const own = secret('gwk-shop-pairing', { labels: MANAGED });
      expect((await call('POST', path('secrets').slice(0, -1), own)).status).toBe(201);
      for (const query of ['?dryRun=All', '']) {
        const { status, body } = await call('DELETE', path('secrets', 'gwk-shop-pairing') + query, null);
        expect([status, body]).toEqual([200, expect.objectContaining({ kind: 'Status' })]);
      }
    });

    test.each([
      ['without the label', {}, {}, ONLY_OWN],
      [
        'with the token of a service account',
        { labels: MANAGED, annotations: { 'kubernetes.io/service-account.name': 'strong' } },
        { type: 'kubernetes.io/service-account-token' },
        'the operator may create only Secrets of type Opaque',
      ],
    ])('a Secret %s cannot be created', async (_, metadata, more, message) => {
      const { status, body } = await call('POST', path('secrets').slice(0, -1), {
        ...secret('another', metadata),
        ...more,
      });
      expect([status, body.message]).toEqual([422, expect.stringContaining(message)]);
    });

    const engine = (change: (spec: Spec) => object = () => ({}), metadata: object = {}): KubeObject => {
      const pod = buildEngine(render(VALUES, { namespace }), namespace) as unknown as KubeObject;
      const spec = pod['spec'] as Spec;
      return { ...pod, metadata: { ...pod.metadata, ...metadata }, spec: { ...spec, ...change(spec) } };
    };
    const create = (pod: KubeObject) => call('POST', `${path('pods').slice(0, -1)}?dryRun=All`, pod);
    const withVolume = (source: object) => (spec: Spec) => ({
      volumes: [...spec.volumes, { name: 'more', ...source }],
    });
    const withContainer = (fields: object) => (spec: Spec) => ({
      containers: [{ ...spec.containers[0]!, ...fields }],
    });

    const withSecurity = (fields: object) => (spec: Spec) =>
      withContainer({
        securityContext: { ...(spec.containers[0]!['securityContext'] as object), ...fields },
      })(spec);
    const withPodSecurity = (fields: object) => (spec: Spec) => ({
      securityContext: { ...(spec['securityContext'] as object), ...fields },
    });

    test.each<[string, KubeObject | (() => KubeObject)]>([
      ['its own Secret and that of the proxy', () => engine()],
      ['the account of a profile', () => engine(() => ({ serviceAccountName: 'engines' }))],
      ['what a service mesh adds', () => engine(withVolume(MESH))],
      ['the proxy of a service mesh', () => engine(withSidecar)],
    ])('a pod of an engine with %s is admitted', async (_, pod) => {
      const { status, body } = await create(typeof pod === 'function' ? pod() : pod);
      expect([status, body.message]).toEqual([201, undefined]);
    });

    test.each<[string, (spec: Spec) => object, string]>([
      ['a foreign Secret', withVolume({ secret: { secretName: 'databases' } }), ONLY_MOUNTS],
      ['the Secret of another name', withVolume({ secret: { secretName: 'gwk-shop-pairing' } }), ONLY_MOUNTS],
      [
        'the Secret of another engine',
        withVolume({ secret: { secretName: 'gwk-other-0a1b2c3d4e' } }),
        ONLY_MOUNTS,
      ],
      [
        'a projected Secret',
        withVolume({ projected: { sources: [{ secret: { name: 'databases' } }] } }),
        ONLY_MOUNTS,
      ],
      ['a volume claim', withVolume({ persistentVolumeClaim: { claimName: 'gwk-media' } }), ONLY_MOUNTS],
      [
        'a variable from a Secret',
        withContainer({
          env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'databases', key: 'key' } } }],
        }),
        NO_VARIABLES,
      ],
      [
        'all variables of a Secret',
        withContainer({ envFrom: [{ secretRef: { name: 'databases' } }] }),
        NO_VARIABLES,
      ],
      [
        'the same in an init container',
        (spec) => ({
          initContainers: [
            {
              ...spec.containers[0]!,
              name: 'i',
              startupProbe: null,
              livenessProbe: null,
              readinessProbe: null,
              envFrom: [{ secretRef: { name: 'databases' } }],
            },
          ],
        }),
        NO_VARIABLES,
      ],
      ['another service account', () => ({ serviceAccountName: 'strong' }), ONLY_ACCOUNTS],
      ['the processes of the node', () => ({ hostPID: true }), NOT_NODE],
      ['the IPC of the node', () => ({ hostIPC: true }), NOT_NODE],
      ['the network of the node', () => ({ hostNetwork: true }), NOT_NODE],
      ['a port of the node', withContainer({ ports: [{ containerPort: 1, hostPort: 1 }] }), NOT_NODE],
      ['a node', () => ({ nodeName: 'control-plane' }), NOT_NODE],
      ['a folder of the node', withVolume({ hostPath: { path: '/' } }), ONLY_MOUNTS],
      ['a privileged container', withSecurity({ privileged: true, allowPrivilegeEscalation: true }), LIMITED],
      ['privilege escalation', withSecurity({ allowPrivilegeEscalation: true }), LIMITED],
      ['privilege escalation by default', withSecurity({ allowPrivilegeEscalation: undefined }), LIMITED],
      ['a capability', withSecurity({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }), LIMITED],
      ['the capabilities of the runtime', withSecurity({ capabilities: {} }), LIMITED],
      ['the user root', withSecurity({ runAsUser: 0 }), LIMITED],
      ['any user of the image', withSecurity({ runAsNonRoot: false }), LIMITED],
      ['the pod as root', withPodSecurity({ runAsUser: 0 }), LIMITED],
      ['a pod of any user', withPodSecurity({ runAsNonRoot: undefined }), LIMITED],
      ['all system calls', withSecurity({ seccompProfile: { type: 'Unconfined' } }), LIMITED],
      ['no seccomp profile', withPodSecurity({ seccompProfile: undefined }), LIMITED],
      ['no AppArmor profile', withSecurity({ appArmorProfile: { type: 'Unconfined' } }), LIMITED],
      ['no SELinux type', withSecurity({ seLinuxOptions: { type: 'spc_t' } }), LIMITED],
    ])('a pod of an engine with %s is refused', async (_, change, message) => {
      const { status, body } = await create(engine(change));
      expect([status, body.message]).toEqual([422, expect.stringContaining(message)]);
    });

    test('a pod without the label of engines, or of another name, is refused', async () => {
      const unlabelled = await create(engine(undefined, { labels: {} }));
      expect([unlabelled.status, unlabelled.body.message]).toEqual([422, expect.stringContaining(ONLY_OWN)]);
      const mount = withVolume({ secret: { secretName: 'databases-0a1b2c3d4e' } });
      const renamed = await create(engine(mount, { name: 'databases' }));
      expect([renamed.status, renamed.body.message]).toEqual([422, expect.stringContaining(ONLY_MOUNTS)]);
    });

    test('foreign pods cannot be deleted, and those of engines can', async () => {
      const pod = (name: string, labels: object) => ({ ...engine(undefined, { name, labels }) });
      for (const one of [pod('gwk-foreign', {}), pod('gwk-own', MANAGED)]) await cluster().applied(one);
      const refused = await call('DELETE', path('pods', 'gwk-foreign'), null);
      expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining(ONLY_OWN)]);
      expect((await call('DELETE', path('pods', 'gwk-own'), null)).status).toBe(200);
    });

    test('a profile with more privileges or an own account changes only these checks', () => {
      const readPolicy = (profile: object) => {
        const engine = { profiles: { default: profile } };
        const found = find(
          render({ ...VALUES, engine }, { namespace }),
          'ValidatingAdmissionPolicy',
          `${namespace}.gwk-operator-writes`,
        );
        return (found['spec'] as { validations: { expression: string }[] }).validations.map(
          ({ expression }) => expression,
        );
      };
      const [before, after] = [
        readPolicy({}),
        readPolicy({
          serviceAccountName: 'engines',
          podSecurityContext: { runAsUser: 1000, seccompProfile: { type: 'Unconfined' } },
          containerSecurityContext: { capabilities: { add: ['NET_ADMIN'] }, runAsNonRoot: true },
        }),
      ];
      const checks = (all: string[]) =>
        all
          .at(-1)!
          .match(/\.\?\w+(?=[.)])/g)!
          .filter((one) => FIELDS.test(one));
      expect(new Set(checks(before))).toEqual(
        new Set([...checks(after), '.?capabilities', '.?seccompProfile']),
      );
      expect(before.join()).toContain('in ["default"]');
      expect(after.join()).toContain('in ["engines"]');
    });

    test('restricts nobody else', async () => {
      const to = path('secrets', 'databases');
      expect((await cluster().call('PATCH', to, { body: {}, type: MERGE })).status).toBe(200);
    });
  },
  { chart: true },
);

/** As Istio adds it with its network plugin. */
const withSidecar = ({ containers }: Spec) => ({
  containers: [
    ...containers,
    {
      name: 'istio-proxy',
      image: 'proxy',
      securityContext: {
        allowPrivilegeEscalation: false,
        privileged: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
        runAsUser: 1337,
        runAsGroup: 1337,
        runAsNonRoot: true,
      },
    },
  ],
});
const FIELDS =
  /privileged|Escalation|capabilities|procMount|runAs|seccompProfile|appArmorProfile|seLinuxOptions/;
const MESH = {
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', audience: 'istio-ca' } },
      { configMap: { name: 'istio-ca-root-cert' } },
    ],
  },
};

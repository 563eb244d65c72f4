import type { V1Pod, V1Secret } from '@kubernetes/client-node';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import { toPublicId } from '@gwk/core/ids/ids';
import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { createHash } from 'node:crypto';
import type { PodPlan } from '../cluster.js';
import { buildNetworkSettings, type EngineNetworks } from '../engine-networks.js';
import {
  ANNOTATIONS,
  COMPONENT,
  LABELS,
  MANAGED_BY,
  parseKey,
  buildPodName,
} from '@gwk/core/kubernetes/names';
import { readVersion, type Profile } from './profiles.js';

/** Settings common to all engines. */
export interface EngineSettings {
  internalUrl: string;
  /** Certificate authority (PEM) that engines trust. */
  internalCa: string | undefined;
  logLevel: string;
  /** Size of the largest file. */
  mediaMaxMb: number;
  networks: EngineNetworks;
}

const SECRETS = '/var/run/gwk';
const PROXY = '/var/run/gwk-proxy';
const PORT = 8084;
/** User of the images. */
const USER = 65532;
/** The restricted pod security standard. */
const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  seccompProfile: { type: 'RuntimeDefault' },
};
const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
/** Evict engines from an unreachable node after 60 s instead of 300 s. */
const UNREACHABLE_SECONDS = 60;

/**
 * Builds the pod of an engine. Pure: equal input gives an equal pod. Unless the profile says otherwise, it satisfies the
 * restricted pod security standard. Its only credential is the token of its own instance.
 */
export function buildPod(plan: Omit<PodPlan, 'token'>, profile: Profile, settings: EngineSettings): V1Pod {
  const { namespace, name } = parseKey(plan.key);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: buildPodName(name),
      namespace,
      labels: {
        ...profile.labels,
        [LABELS.name]: 'gwk-engine',
        [LABELS.component]: COMPONENT,
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.version]: readVersion(profile),
        [LABELS.instance]: name,
        [LABELS.instanceId]: toPublicId('instance', plan.instanceId),
      },
      annotations: {
        // Without this, the autoscaler never drains a node with a bare pod.
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true',
        ...profile.annotations,
        [ANNOTATIONS.engine]: plan.name,
        [ANNOTATIONS.uid]: plan.uid,
        [ANNOTATIONS.template]: JSON.stringify(plan.template),
      },
      ownerReferences: [buildOwnerReference(plan)],
    },
    spec: {
      ...buildSpec(profile),
      containers: [buildContainer(plan, profile, settings)],
      volumes: [
        { name: 'credentials', secret: { secretName: plan.name, defaultMode: 0o440 } },
        // Large files one after the other, and small ones.
        { name: 'tmp', emptyDir: { sizeLimit: `${settings.mediaMaxMb + 1_024}Mi` } },
        ...buildProxyVolumes(profile),
      ],
    },
  };
}

function buildSpec(profile: Profile): Omit<NonNullable<V1Pod['spec']>, 'containers'> {
  const { affinity, priorityClassName, runtimeClassName, schedulerName, topologySpreadConstraints } = profile;
  const { serviceAccountName, dnsPolicy, dnsConfig, hostAliases } = profile;
  return {
    // The operator restarts engines: it frees the lease first and applies the backoff.
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    // Services of this namespace would otherwise add environment variables, which engines read settings from.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: profile.terminationGracePeriodSeconds,
    securityContext: overlay(POD_SECURITY, profile.podSecurityContext),
    nodeSelector: profile.nodeSelector,
    tolerations: [...profile.tolerations, tolerate('not-ready'), tolerate('unreachable')],
    imagePullSecrets: profile.imagePullSecrets,
    topologySpreadConstraints: topologySpreadConstraints as never,
    affinity,
    priorityClassName,
    runtimeClassName,
    schedulerName,
    serviceAccountName,
    dnsPolicy,
    dnsConfig,
    hostAliases: hostAliases as never,
  };
}

const overlay = (defaults: object, own: object): object =>
  Object.fromEntries(Object.entries({ ...defaults, ...own }).filter(([, value]) => value !== null));

const tolerate = (condition: string) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: UNREACHABLE_SECONDS,
});

const probe = (path: string, more: object) => ({ httpGet: { path, port: PORT }, timeoutSeconds: 3, ...more });

function buildContainer(
  { name, template }: Omit<PodPlan, 'token'>,
  profile: Profile,
  settings: EngineSettings,
): NonNullable<V1Pod['spec']>['containers'][number] {
  return {
    name: COMPONENT,
    image: profile.image,
    imagePullPolicy: profile.imagePullPolicy,
    command: profile.command,
    args: ['engine'],
    env: buildEnvironment(name, template.logLevel, profile, settings),
    ports: [{ name: 'health', containerPort: PORT }],
    startupProbe: probe('/livez', { periodSeconds: 1, failureThreshold: 60 }),
    livenessProbe: probe('/livez', { periodSeconds: 10, failureThreshold: 6 }),
    readinessProbe: probe('/readyz', { periodSeconds: 2, failureThreshold: 2 }),
    resources: profile.resources,
    // The operator reads the exit reason from the last log lines.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: overlay(CONTAINER_SECURITY, profile.containerSecurityContext),
    volumeMounts: [
      { name: 'credentials', mountPath: SECRETS, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      ...(profile.proxy ? [{ name: 'proxy', mountPath: PROXY, readOnly: true }] : []),
    ],
  };
}

/** The address of the proxy contains a password, so it is in no pod. The kubelet updates the file. */
function buildProxyVolumes({ proxy }: Profile): NonNullable<NonNullable<V1Pod['spec']>['volumes']> {
  if (!proxy) return [];
  const items = [{ key: proxy.urlKey, path: 'url' }];
  if (proxy.caKey !== undefined) items.push({ key: proxy.caKey, path: 'ca.crt' });
  return [{ name: 'proxy', secret: { secretName: proxy.secretName, items, defaultMode: 0o440 } }];
}

function buildProxySettings({ proxy }: Profile): Record<string, string> {
  if (!proxy) return {};
  return {
    GWK_ENGINE_PROXY_URL_FILE: `${PROXY}/url`,
    ...(proxy.caKey !== undefined && { GWK_ENGINE_PROXY_CA_FILE: `${PROXY}/ca.crt` }),
    ...(proxy.noProxy.length > 0 && { GWK_ENGINE_NO_PROXY: proxy.noProxy.join(',') }),
  };
}

function buildEnvironment(
  name: string,
  logLevel: string | null,
  profile: Profile,
  settings: EngineSettings,
): { name: string; value: string }[] {
  const values = {
    GWK_LOG_LEVEL: logLevel ?? settings.logLevel,
    GWK_ENGINE_INTERNAL_URL: settings.internalUrl,
    GWK_ENGINE_POD: name,
    GWK_ENGINE_PORT: String(PORT),
    GWK_ENGINE_TOKEN_FILE: `${SECRETS}/token`,
    ...(settings.internalCa !== undefined && { GWK_ENGINE_INTERNAL_CA_FILE: `${SECRETS}/ca.crt` }),
    ...buildNetworkSettings({
      ...settings.networks,
      clientVersion: profile.clientVersion ?? settings.networks.clientVersion,
    }),
    ...buildProxySettings(profile),
  };
  const { env } = profile;
  const named = (settings: Record<string, string>) =>
    Object.entries(settings).map(([key, value]) => ({ name: key, value }));
  const process = named(ENGINE_ENVIRONMENT).filter(({ name }) => !env.some((own) => own.name === name));
  return [...process, ...env, ...named(values)];
}

/**
 * Builds the Secret with the engine's token. It has the engine's own name, so that no engine ever reads the token of
 * another.
 */
export function buildTokenSecret(plan: PodPlan, podUid: string, { internalCa }: EngineSettings): V1Secret {
  const { namespace, name } = parseKey(plan.key);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: plan.name,
      namespace,
      labels: { [LABELS.managedBy]: MANAGED_BY, [LABELS.component]: COMPONENT, [LABELS.instance]: name },
      // Garbage collection deletes it with its pod.
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: buildPodName(name), uid: podUid }],
    },
    immutable: true,
    type: 'Opaque',
    stringData: { token: plan.token, ...(internalCa !== undefined && { 'ca.crt': internalCa }) },
  };
}

function buildOwnerReference({ key, uid }: { key: string; uid: string }) {
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    name: parseKey(key).name,
    uid,
    controller: true,
    blockOwnerDeletion: false,
  };
}

/** Hash of everything an engine is created from, except what is unique to each engine. */
export function computeRevision(profile: Profile, settings: EngineSettings): string {
  const nobody = {
    key: 'namespace/name',
    uid: '',
    name: 'engine',
    instanceId: '00000000-0000-7000-8000-000000000000',
    template: { profile: '', logLevel: null, revision: '' },
  };
  const made = { pod: buildPod(nobody, profile, settings), ca: settings.internalCa };
  return createHash('sha256').update(canonicalJson(made)).digest('hex').slice(0, 16);
}

import { MINIMAL_VALUES, READ_BY_PROMETHEUS } from '../support/chart/render.js';

const placement = {
  nodeSelector: { pool: 'messages' },
  tolerations: [{ key: 'messages', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
  ],
  priorityClassName: 'system-cluster-critical',
  podLabels: { team: 'messages' },
  podAnnotations: { note: 'yes' },
  serviceAccountAnnotations: { role: 'files' },
  extraEnv: [{ name: 'TZ', value: 'America/Sao_Paulo' }],
  extraEnvFrom: [{ configMapRef: { name: 'proxy', optional: true } }],
  extraVolumes: [{ name: 'extra', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
};

/** A container that every policy admits. */
export const SIDECAR = {
  name: 'sidecar',
  image: 'registry.example.com/sidecar:1',
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  resources: { requests: { cpu: '10m' }, limits: { memory: '64Mi' } },
};

const EVERY_FIELD = {
  enabled: true,
  interval: '15s',
  scrapeTimeout: '10s',
  relabelings: [{ targetLabel: 'cluster', replacement: 'east' }],
  metricRelabelings: [{ action: 'labeldrop', regex: 'pod_template_hash' }],
};

/** Values of typical installations, from the minimum to everything at once. */
export const INSTALLATIONS: Record<string, object> = {
  'minimal values': MINIMAL_VALUES,
  demo: { demo: { enabled: true } },
  'demo with a storage class': { demo: { enabled: true, persistence: { storageClassName: 'fast' } } },
  'demo without volumes': { demo: { enabled: true, persistence: { enabled: false } } },
  'URLs in the values': {
    postgres: { url: 'postgresql://gwk:secret@postgres.example.com/gwk?sslmode=verify-full' },
    redis: { url: 'rediss://redis.example.com' },
  },
  'existing Secrets': {
    ...MINIMAL_VALUES,
    secrets: { existingSecret: 'own', encryptionKeysKey: 'keys', operatorTokenKey: 'token' },
    internal: { tls: { existingSecret: 'own-tls' } },
  },
  'a pooler, and migrations past it': {
    ...MINIMAL_VALUES,
    postgres: {
      existingSecret: 'pooler',
      migrationsUrl: 'postgresql://gwk:secret@postgres.example.com:5432/gwk',
    },
    networkPolicy: {
      postgresPort: 6432,
      migrationsExtraEgress: [{ ports: [{ port: 5432, protocol: 'TCP' }] }],
    },
  },
  'autoscaling by metrics': {
    ...MINIMAL_VALUES,
    api: { autoscaling: { enabled: true, targetRequestsPerSecond: 200 } },
    worker: { autoscaling: { enabled: true, targetPreparationAgeSeconds: 0, behavior: { scaleDown: {} } } },
  },
  'autoscaling by KEDA': {
    ...MINIMAL_VALUES,
    autoscaling: { prometheusUrl: 'https://prometheus.example.com', triggerAuthentication: 'prometheus' },
    api: { autoscaling: { enabled: true, kind: 'keda', targetRequestsPerSecond: 200 } },
    worker: {
      autoscaling: {
        enabled: true,
        kind: 'keda',
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
      },
    },
  },
  'PodMonitors with every field': {
    ...MINIMAL_VALUES,
    networkPolicy: READ_BY_PROMETHEUS,
    monitoring: { podMonitors: EVERY_FIELD },
  },
  'ServiceMonitors with every field': {
    ...MINIMAL_VALUES,
    networkPolicy: READ_BY_PROMETHEUS,
    operator: { namespaces: ['shop', 'support'] },
    monitoring: { serviceMonitors: EVERY_FIELD },
  },
  'a proxy': {
    ...MINIMAL_VALUES,
    proxy: { existingSecret: 'way-out', caKey: 'ca', noProxy: ['minio.corp.example.com'] },
    networkPolicy: { proxy: [{ ipBlock: { cidr: '10.9.0.1/32' } }], cloudCredentials: 'eks-pod-identity' },
  },
  'internal API without TLS': { ...MINIMAL_VALUES, internal: { tls: { enabled: false } } },
  'cert-manager': {
    ...MINIMAL_VALUES,
    internal: {
      tls: { certManager: { enabled: true, issuerRef: { name: 'inside', kind: 'ClusterIssuer' } } },
    },
  },
  'TLS to Postgres and Redis': {
    postgres: { existingSecret: 'databases', tls: { caSecret: 'postgres-ca' } },
    redis: {
      existingSecret: 'databases',
      engineUrl: 'rediss://redis:6380',
      tls: { caConfigMap: 'redis-ca' },
    },
    networkPolicy: { redisPort: 6380 },
  },
  'media in a bucket': {
    ...MINIMAL_VALUES,
    media: {
      url: 'https://files.example.com',
      s3: { bucket: 'files', url: 'https://s3.example.com', pathStyle: true, existingSecret: 'bucket' },
    },
  },
  'webhook receivers of a private authority': {
    ...MINIMAL_VALUES,
    webhooks: { tls: { hosts: ['hooks.example.com', 'example.org'], caConfigMap: 'company-ca' } },
  },
  'an SMTP server': {
    ...MINIMAL_VALUES,
    smtp: {
      host: 'mail.example.com',
      tls: { caConfigMap: 'mail-ca' },
      user: 'gwk',
      existingSecret: 'mail',
      from: 'gwk@example.com',
    },
  },
  'sign-in with a provider': {
    ...MINIMAL_VALUES,
    api: {
      console: {
        oidc: {
          issuer: 'https://login.example.com',
          clientId: 'gwk',
          existingSecret: 'oidc',
          domains: ['example.com', 'example.org'],
          claim: 'groups',
          roles: { staff: [{ account: 'acme', role: 'agent' }] },
          passwords: false,
        },
      },
    },
  },
  'a portal that opens the console': { ...MINIMAL_VALUES, api: { portals: { existingSecret: 'portal' } } },
  'media in an existing claim': { ...MINIMAL_VALUES, media: { folder: { existingClaim: 'own' } } },
  'Ingress and autoscaling': {
    ...MINIMAL_VALUES,
    api: {
      trustProxy: 1,
      autoscaling: { enabled: true, behavior: { scaleDown: { stabilizationWindowSeconds: 60 } } },
    },
    ingress: {
      enabled: true,
      className: 'nginx',
      hosts: ['api.example.com'],
      tls: [{ secretName: 'api-tls', hosts: ['api.example.com'] }],
    },
  },
  'a console at a host of its own': {
    ...MINIMAL_VALUES,
    console: { host: 'console.example.com' },
    ingress: {
      enabled: true,
      hosts: ['api.example.com'],
      tls: [{ secretName: 'tls', hosts: ['api.example.com', 'console.example.com'] }],
    },
    route: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['api.example.com'] },
  },
  'Gateway API route': {
    ...MINIMAL_VALUES,
    route: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['api.example.com'] },
  },
  'tracing, and availability from Prometheus': {
    ...MINIMAL_VALUES,
    monitoring: {
      prometheus: { url: 'http://prometheus.monitoring:9090' },
      tracing: {
        endpoint: 'http://collector.monitoring:4318',
        sampler: 'parentbased_traceidratio',
        samplerArg: '0.1',
        resourceAttributes: { 'deployment.environment': 'a shop, in a city' },
      },
    },
  },
  monitoring: {
    ...MINIMAL_VALUES,
    networkPolicy: READ_BY_PROMETHEUS,
    monitoring: {
      podMonitors: { enabled: true, labels: { release: 'prometheus' } },
      rules: { enabled: true, runbookUrl: 'https://wiki.example.com/gwk/' },
      dashboards: { enabled: true },
      instanceLabel: false,
    },
  },
  'other namespaces': { ...MINIMAL_VALUES, operator: { namespaces: ['shop', 'support'] } },
  'all namespaces': { ...MINIMAL_VALUES, operator: { namespaces: ['*'] } },
  'single replicas': {
    ...MINIMAL_VALUES,
    api: { replicas: 1 },
    worker: { replicas: 1 },
    operator: { replicas: 1 },
  },
  'all optional parts off': {
    ...MINIMAL_VALUES,
    migrations: { enabled: false },
    networkPolicy: { enabled: false },
    crds: { enabled: false },
    rbac: { create: false },
    operator: { watchNodes: false },
    secrets: { existingSecret: 'own' },
    internal: { tls: { existingSecret: 'own-tls' } },
  },
  'names, containers and Services of the platform': platform(),
  'everything at once': everything(),
};

function platform(): object {
  const program = (name: string) => ({
    serviceAccount: { create: name !== 'api', name: `own-${name}` },
    initContainers: [{ ...SIDECAR, name: 'init' }],
    extraContainers: [SIDECAR],
    strategy: { type: 'Recreate' },
  });
  return {
    ...MINIMAL_VALUES,
    namespaceOverride: 'shop',
    global: { imageRegistry: 'mirror.example.com/all', imagePullSecrets: ['mirror', { name: 'other' }] },
    image: { registry: 'registry.example.com/gwk', pullSecrets: [{ name: 'other' }] },
    dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
    hostAliases: [{ ip: '192.0.2.9', hostnames: ['postgres.example.com'] }],
    revisionHistoryLimit: 5,
    ipFamilyPolicy: 'PreferDualStack',
    ipFamilies: ['IPv4'],
    jobs: { serviceAccount: { name: 'own-secrets' } },
    migrations: { serviceAccount: { name: 'own-migrations' } },
    api: {
      ...program('api'),
      service: {
        type: 'LoadBalancer',
        loadBalancerClass: 'example.com/public',
        externalTrafficPolicy: 'Local',
      },
    },
    worker: program('worker'),
    operator: program('operator'),
    ...access(),
  };
}

/** Ways to the public API. */
function access(): object {
  return {
    ingress: {
      enabled: true,
      hosts: ['api.example.com', 'api.example.org'],
      paths: [
        { path: '/v1/', pathType: 'Prefix' },
        { path: '/openapi.json', pathType: 'Exact' },
      ],
      extraRules: [
        {
          host: 'files.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'files', port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
    route: {
      enabled: true,
      parentRefs: [{ name: 'public' }],
      hostnames: ['api.example.com'],
      filters: [
        {
          type: 'ResponseHeaderModifier',
          responseHeaderModifier: { set: [{ name: 'Strict-Transport-Security', value: 'max-age=31536000' }] },
        },
      ],
      timeouts: { request: '10m' },
      extraRules: [{ backendRefs: [{ name: 'files', port: 80 }] }],
    },
  };
}

function everything(): object {
  return {
    fullnameOverride: 'messages',
    commonLabels: { owner: 'platform' },
    commonAnnotations: { docs: 'inside' },
    image: {
      registry: 'registry.example.com/gwk',
      tag: '1.2.3',
      pullPolicy: 'Always',
      pullSecrets: [{ name: 'registry' }],
      digests: { engine: `sha256:${'e'.repeat(64)}` },
    },
    placement: { nodeSelector: { pool: 'gateway' }, priorityClassName: 'system-cluster-critical' },
    jobs: { podAnnotations: { 'linkerd.io/inject': 'disabled' } },
    listenAddress: '::',
    logLevel: 'warn',
    environment: 'staging',
    policy: { messages_per_minute: 30 },
    forbiddenRanges: ['203.0.113.0/24', '2001:db8::/32'],
    demo: { enabled: true },
    api: {
      ...placement,
      baseUrl: 'https://api.example.com/',
      settings: { GWK_API_REQUESTS_PER_MINUTE: 1200 },
      service: {
        type: 'LoadBalancer',
        annotations: { kind: 'internal' },
        loadBalancerSourceRanges: ['192.0.2.0/24'],
      },
    },
    worker: { ...placement, settings: { GWK_WORKER_EVENT_DAYS: '30' } },
    operator: {
      ...placement,
      settings: { GWK_OPERATOR_IDLE_ENGINE_MS: 60000 },
      namespaces: ['messages', 'shop'],
    },
    engine: {
      profiles: {
        default: {},
        large: { resources: { limits: { memory: '1Gi' } }, nodeSelector: { big: 'yes' } },
      },
    },
    networkPolicy: {
      metrics: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      api: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      engineExtraEgress: [{ to: [{ ipBlock: { cidr: '10.9.0.0/16' } }], ports: [{ port: 5222 }] }],
    },
    extraObjects: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '{{ .Release.Name }}-extra' },
        data: { a: 'b' },
      },
    ],
  };
}

import { rotatingOptional, rotatingSecret, setting, types } from './load.js';
import { mediaStoreSettings } from './media.js';
import * as shared from './shared.js';
import { tracingSettings } from './tracing.js';

/** Settings of `gwk api`. */
export const apiSettings = {
  databaseUrl: shared.databaseUrl,
  databaseCa: shared.databaseCa,
  databasePool: setting(
    'GWK_API_DATABASE_POOL',
    types.integer(2, 200).default(16),
    'Connections to Postgres held by one API process.',
  ),
  redisUrl: shared.redisUrl,
  redisCa: shared.redisCa,
  redisPrefix: shared.redisPrefix,
  encryptionKeys: shared.encryptionKeys,
  logLevel: shared.logLevel,
  exitWithParent: shared.exitWithParent,
  host: setting(
    'GWK_API_HOST',
    types.text().default('0.0.0.0'),
    'Address that the public listener binds to.',
  ),
  port: setting('GWK_API_PORT', types.integer(0, 65535).default(8080), 'Port of the public listener.'),
  metricsPort: setting(
    'GWK_API_METRICS_PORT',
    types.integer(0, 65535).default(8085),
    'Port of /metrics (with /livez and /readyz beside it), bound like the public listener, which does not show them. 0: on the public port, for everybody who reaches it.',
  ),
  maxConnections: setting(
    'GWK_API_MAX_CONNECTIONS',
    types.integer(10, 1_000_000).default(16_384),
    'Connections to the public listener that one API process holds; beyond them it closes silent ones, and new ones until there is room.',
  ),
  internalHost: setting(
    'GWK_API_INTERNAL_HOST',
    types.text().default('0.0.0.0'),
    'Address that the internal listener (engines, operator) binds to.',
  ),
  internalPort: setting(
    'GWK_API_INTERNAL_PORT',
    types.integer(0, 65535).default(8081),
    'Port of the internal listener. Never expose it.',
  ),
  internalMaxConnections: setting(
    'GWK_API_INTERNAL_MAX_CONNECTIONS',
    types.integer(10, 1_000_000).default(16_384),
    'Connections to the internal listener that one API process holds; an engine has up to 10. Beyond them it closes those between requests, and new ones until there is room.',
  ),
  internalTlsCert: rotatingOptional(
    'GWK_API_INTERNAL_TLS_CERT',
    'Certificate (PEM) of the internal listener. With the key it speaks TLS, without both it speaks plain HTTP. Files are read again, so that a renewed certificate needs no restart.',
    { secret: false },
  ),
  internalTlsKey: rotatingOptional('GWK_API_INTERNAL_TLS_KEY', 'Key (PEM) of the internal listener.', {
    secret: true,
  }),
  operatorToken: shared.operatorToken,
  docsUrl: setting(
    'GWK_API_DOCS_URL',
    types.url('http', 'https').optional(),
    'Base of the problem identifiers ({docs_url}); the public address of this API when not set.',
  ),
  baseUrl: setting(
    'GWK_API_BASE_URL',
    types.url('http', 'https').default('http://127.0.0.1:8080'),
    'Public address of this API ({base_url}).',
  ),
  mediaUrl: setting(
    'GWK_MEDIA_URL',
    types.url('http', 'https').optional(),
    'Public address of links to media ({media_url}), a host of its own if wished; GWK_API_BASE_URL when not set.',
  ),
  ...mediaStoreSettings,
  environment: setting(
    'GWK_API_ENVIRONMENT',
    types.text(1, 40).default('production'),
    'The `environment` of the instances created here.',
  ),
  environmentPolicy: setting(
    'GWK_API_POLICY',
    types.text().default('{}'),
    'Policy overrides of this environment, as JSON: the level below accounts and instances.',
  ),
  clusterUrl: setting(
    'GWK_API_CLUSTER_URL',
    types.url('http', 'https').default('https://kubernetes.default.svc'),
    'Address of the API that keeps Instance resources: Kubernetes, or the operator on one machine.',
  ),
  clusterToken: rotatingSecret(
    'GWK_API_CLUSTER_TOKEN',
    'Token for the cluster address. In Kubernetes give GWK_API_CLUSTER_TOKEN_FILE, the path of the service account token; it is read again as it rotates.',
  ),
  clusterCa: setting(
    'GWK_API_CLUSTER_CA',
    types.text().optional(),
    'Certificate authority (PEM) of the cluster address.',
  ),
  clusterNamespace: setting(
    'GWK_API_CLUSTER_NAMESPACE',
    types.matching(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'a DNS label').default('default'),
    'Namespace in which this API creates Instance resources.',
  ),
  requestsPerMinute: setting(
    'GWK_API_REQUESTS_PER_MINUTE',
    types.integer(1, 10_000_000).default(600),
    'Requests a minute for each API key, unless its account says otherwise.',
  ),
  anonymousRequestsPerMinute: setting(
    'GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE',
    types.integer(1, 10_000_000).default(120),
    'Unauthenticated requests a minute for each address.',
  ),
  maxInstances: setting(
    'GWK_API_MAX_INSTANCES',
    types.integer(0, 1_000_000).default(10),
    'Instances of an account (sandboxes not counted), unless the account says otherwise.',
  ),
  leaseMs: setting(
    'GWK_API_LEASE_MS',
    types.integer(1000, 600_000).default(45_000),
    'How long an engine may hold its number without renewing (milliseconds).',
  ),
  leaseRenewMs: setting(
    'GWK_API_LEASE_RENEW_MS',
    types.integer(200, 60_000).default(10_000),
    'How often an engine renews (milliseconds); less than a third of the lease.',
  ),
  engineRedisUrl: setting(
    'GWK_API_ENGINE_REDIS_URL',
    types.url('redis', 'rediss').optional(),
    'Address of Redis as engines reach it, without credentials; that of REDIS_URL when not set.',
  ),
  redisAcl: setting(
    'GWK_API_REDIS_ACL',
    types.flag().default(true),
    'Give every engine a Redis user that reaches its own keys only. Turn off where the Redis service has no ACLs.',
  ),
  loopbackWebhooks: setting(
    'GWK_API_LOOPBACK_WEBHOOKS',
    types.flag().default(false),
    'Accept webhook destinations of the form http://127.0.0.1:PORT/. Only for a gateway on one machine.',
  ),
  forbiddenRanges: setting(
    'GWK_API_FORBIDDEN_RANGES',
    types.ranges().default([]),
    'More address ranges (CIDR, separated by commas) that webhook destinations must not name: the cluster its own.',
  ),
  drainMs: setting(
    'GWK_API_DRAIN_MS',
    types.integer(500, 600_000).default(25_000),
    'How long a stop waits for requests under way, of which uploads are the longest (milliseconds); then they are answered with 500. Less than the grace that whoever stops it gives.',
  ),
  stopUnreadyMs: setting(
    'GWK_API_STOP_UNREADY_MS',
    types.integer(0, 60_000).default(500),
    'How long a stop goes on taking connections after readiness has turned red, for balancers to turn elsewhere (milliseconds).',
  ),
  stopIdleMs: setting(
    'GWK_API_STOP_IDLE_MS',
    types.integer(0, 60_000).default(500),
    'How long a stop leaves connections open that say nothing, counted from the end of taking new ones (milliseconds).',
  ),
  trustProxy: setting(
    'GWK_API_TRUST_PROXY',
    types.integer(0, 10).default(0),
    'How many proxies before this API may name the address of a client (X-Forwarded-For).',
  ),
  ...tracingSettings,
};

import { accountLimitSettings } from './account-limits.js';
import { rotatingSetting, setting, types } from '@gwk/core/config/load';
import { mailSettings } from './mail.js';
import { oidcSettings } from './oidc.js';
import { mediaStoreSettings } from './media.js';
import { parsePolicyJson } from '../policy/policy.js';
import { proxySettings } from '@gwk/core/config/proxy';
import * as shared from '@gwk/core/config/shared';
import { tracingSettings } from '@gwk/core/config/tracing';

/** Settings of `gwk api`. */
export const apiSettings = {
  ...shared.stores,
  databasePool: setting(
    'GWK_API_DATABASE_POOL',
    types.integer(2, 200).default(16),
    'Maximum connections to Postgres per API process.',
  ),
  ...shared.program,
  host: setting(
    'GWK_API_HOST',
    types.text().default('0.0.0.0'),
    'Address that the public listener binds to.',
  ),
  port: setting('GWK_API_PORT', types.integer(0, 65535).default(8080), 'Port of the public listener.'),
  metricsPort: setting(
    'GWK_API_METRICS_PORT',
    types.integer(0, 65535).default(8085),
    'Port of /metrics, /livez and /readyz, on the address of the public listener. With 0 the public listener serves them, to every client that reaches it.',
  ),
  maxConnections: setting(
    'GWK_API_MAX_CONNECTIONS',
    types.integer(10, 1_000_000).default(16_384),
    'Maximum connections to the public listener per API process. At the limit it closes idle connections, and refuses new ones until one is free.',
  ),
  maxConnectionsPerAddress: setting(
    'GWK_API_MAX_CONNECTIONS_PER_ADDRESS',
    types.integer(1, 1_000_000).default(4_096),
    'Maximum connections of one client address, or one IPv6 /64, to the public listener per API process; it closes further ones at once. Not applied if `GWK_API_TRUST_PROXY` is above 0, because all connections then come from proxies.',
  ),
  maxDownloads: setting(
    'GWK_API_MAX_DOWNLOADS',
    types.integer(100, 100_000).default(400),
    'Maximum downloads by link at once per API process. An account may use a quarter of them, a client address a tenth, a file a twentieth.',
  ),
  maxUploads: setting(
    'GWK_API_MAX_UPLOADS',
    types.integer(100, 100_000).default(400),
    'Maximum uploads at once per API process. An account may use a quarter of them.',
  ),
  internalHost: setting(
    'GWK_API_INTERNAL_HOST',
    types.text().default('0.0.0.0'),
    'Address that the internal listener (engines, operator) binds to.',
  ),
  internalPort: setting(
    'GWK_API_INTERNAL_PORT',
    types.integer(0, 65535).default(8081),
    'Port of the internal listener. Do not expose it outside the cluster.',
  ),
  internalMaxConnections: setting(
    'GWK_API_INTERNAL_MAX_CONNECTIONS',
    types.integer(10, 1_000_000).default(16_384),
    'Maximum connections to the internal listener per API process; an engine opens up to 11. At the limit it closes idle connections, and refuses new ones until one is free.',
  ),
  maxSessionMb: setting(
    'GWK_API_MAX_SESSION_MB',
    types.integer(8, 10_000).default(128),
    'Maximum session of an instance in Postgres (megabytes), and 2,000 keys for each. Each device of a contact needs about 1 kB. An engine whose session would exceed it logs `session-full`, disconnects and loads the stored session again.',
  ),
  internalTlsCert: rotatingSetting(
    'GWK_API_INTERNAL_TLS_CERT',
    types.text().optional(),
    'Certificate (PEM) of the internal listener. With certificate and key the listener uses TLS, without them plain HTTP. It rereads the files, so a renewed certificate needs no restart.',
  ),
  internalTlsKey: rotatingSetting(
    'GWK_API_INTERNAL_TLS_KEY',
    types.text().optional(),
    'Key (PEM) of the internal listener.',
  ),
  operatorToken: shared.operatorToken,
  docsUrl: setting(
    'GWK_API_DOCS_URL',
    types.url('http', 'https').optional(),
    'Base URL of problem identifiers: `{docs_url}` in [errors.md](errors.md). Default: GWK_API_BASE_URL.',
  ),
  baseUrl: setting(
    'GWK_API_BASE_URL',
    types.url('http', 'https').default('http://127.0.0.1:8080'),
    'Public base URL of this API. Use https: over http, networks read keys, passwords and cookies, and the API warns of it at its start.',
  ),
  console: setting(
    'GWK_API_CONSOLE',
    types.flag().default(true),
    'Serve the web console under `/console`. With `off` these paths answer 404.',
  ),
  consoleUrl: setting(
    'GWK_API_CONSOLE_URL',
    types.url('http', 'https').optional(),
    'Public URL of the console, if it has a host of its own: links lead there, and its origin may send requests. Default: GWK_API_BASE_URL.',
  ),
  consoleOrigins: setting(
    'GWK_API_CONSOLE_ORIGINS',
    types.origins().default([]),
    'Origins (separated by commas) from which the console may send requests, in addition to those of GWK_API_BASE_URL and GWK_API_CONSOLE_URL.',
  ),
  passkeys: setting(
    'GWK_API_PAIRING_PASSKEYS',
    types.flag().default(false),
    'Link phones that require a passkey, for accounts that `gwk account allow-passkeys` allows it. With `off` such a pairing ends with `passkey_required`. The chart sets it (`pairing.passkeys`).',
  ),
  adminMfa: setting(
    'GWK_API_CONSOLE_ADMIN_MFA',
    types.flag().default(false),
    'Administrators of the platform need a second factor. Without one they reach only their profile, and set up the first one after a sign-in by a link, the provider or `gwk user reset`. The chart sets `on` (`console.adminMfa`).',
  ),
  platformToken: rotatingSetting(
    'GWK_API_CONSOLE_PLATFORM_TOKEN',
    types.matching(shared.TOKENS, shared.TOKENS_MEANING).optional(),
    'Bearer token of a portal that opens the console for its users (`POST /console/api/handoffs`). To rotate it, list several tokens, separated by commas. Without it no portal can. It signs in as every person, so keep it in a Secret.',
  ),
  mediaUrl: setting(
    'GWK_MEDIA_URL',
    types.url('http', 'https').optional(),
    'Public base URL of media links. It may have its own host. Default: GWK_API_BASE_URL.',
  ),
  ...mediaStoreSettings,
  ...proxySettings('GWK_API', 'the bucket, the OpenID Connect provider and the SMTP server'),
  ...accountLimitSettings,
  environment: setting(
    'GWK_API_ENVIRONMENT',
    types.text(1, 40).default('production'),
    'Value of `environment` in the instances that this API creates.',
  ),
  environmentPolicy: setting(
    'GWK_API_POLICY',
    types.parsed(parsePolicyJson).default({}),
    'Policy overrides for all accounts of this environment, as JSON. Accounts and instances can override them.',
  ),
  clusterUrl: setting(
    'GWK_API_CLUSTER_URL',
    types.url('http', 'https').default('https://kubernetes.default.svc'),
    'Address of the Kubernetes API, which stores Instance resources.',
  ),
  operatorUrl: setting(
    'GWK_API_OPERATOR_URL',
    types.url('http', 'https').optional(),
    'Address of the operator that stores Instance resources on one machine, instead of the Kubernetes API.',
  ),
  clusterToken: rotatingSetting(
    'GWK_API_CLUSTER_TOKEN',
    types.text(),
    'Token for GWK_API_CLUSTER_URL or GWK_API_OPERATOR_URL. In Kubernetes set GWK_API_CLUSTER_TOKEN_FILE to the path of the service account token; the API rereads the file when it rotates.',
  ),
  clusterCa: setting(
    'GWK_API_CLUSTER_CA',
    types.text().optional(),
    'Certificate authority (PEM) that signs the certificate of GWK_API_CLUSTER_URL.',
  ),
  clusterNamespace: setting(
    'GWK_API_CLUSTER_NAMESPACE',
    types.matching(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'a DNS label').default('default'),
    'Namespace in which the API creates Instance resources.',
  ),
  requestsPerMinute: setting(
    'GWK_API_REQUESTS_PER_MINUTE',
    types.integer(1, 10_000_000).default(600),
    'Requests per minute for each API key. An account can have its own limit.',
  ),
  anonymousRequestsPerMinute: setting(
    'GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE',
    types.integer(1, 10_000_000).default(120),
    'Unauthenticated requests per minute for each client address.',
  ),
  maxInstances: setting(
    'GWK_API_MAX_INSTANCES',
    types.integer(0, 1_000_000).default(10),
    'Maximum instances of an account, not counting sandboxes. An account can have its own limit.',
  ),
  leaseMs: setting(
    'GWK_API_LEASE_MS',
    types.integer(1000, 600_000).default(45_000),
    'How long the lease of an engine stays valid without renewal (milliseconds). An engine that cannot renew disconnects before the lease ends.',
  ),
  leaseRenewMs: setting(
    'GWK_API_LEASE_RENEW_MS',
    types.integer(200, 60_000).default(10_000),
    'Interval at which an engine renews its lease (milliseconds). Must be less than a third of GWK_API_LEASE_MS.',
  ),
  engineRedisUrl: setting(
    'GWK_API_ENGINE_REDIS_URL',
    types.url('redis', 'rediss').optional(),
    'Address of Redis for engines, without credentials. Default: the address in REDIS_URL.',
  ),
  redisAcl: setting(
    'GWK_API_REDIS_ACL',
    types.flag().default(true),
    'Give each engine a Redis user that can only access its own keys. Turn off if the Redis service has no ACLs.',
  ),
  loopbackWebhooks: setting(
    'GWK_API_LOOPBACK_WEBHOOKS',
    types.flag().default(false),
    'Accept webhook endpoints of the form http://127.0.0.1:PORT/. Only for a gateway on one machine.',
  ),
  forbiddenRanges: setting(
    'GWK_API_FORBIDDEN_RANGES',
    types.ranges().default([]),
    'Address ranges (CIDR, separated by commas) that webhook URLs must not point to, in addition to private ranges. Add the ranges of your cluster.',
  ),
  drainMs: setting(
    'GWK_API_DRAIN_MS',
    types.integer(500, 600_000).default(25_000),
    'How long a shutdown waits for running requests, such as uploads (milliseconds). Afterwards the API answers them with 500. Must be less than the termination grace period.',
  ),
  stopUnreadyMs: setting(
    'GWK_API_STOP_UNREADY_MS',
    types.integer(0, 60_000).default(500),
    'How long a shutdown still accepts connections after /readyz fails, so that load balancers can react (milliseconds).',
  ),
  stopIdleMs: setting(
    'GWK_API_STOP_IDLE_MS',
    types.integer(0, 60_000).default(500),
    'How long a shutdown keeps idle connections open after it stops accepting new ones (milliseconds).',
  ),
  trustProxy: setting(
    'GWK_API_TRUST_PROXY',
    types.integer(0, 10).default(0),
    'Number of trusted proxies in front of the API that set the client address (X-Forwarded-For).',
  ),
  ...oidcSettings,
  ...mailSettings,
  ...tracingSettings,
};

import { accountLimitSettings } from './account-limits.js';
import { secretSetting, setting, types } from '@gwk/core/config/load';
import { mailSettings } from './mail.js';
import { mediaStoreSettings } from './media.js';
import { parsePolicyJson } from '../policy/policy.js';
import { proxySettings } from '@gwk/core/config/proxy';
import * as shared from '@gwk/core/config/shared';
import { tracingSettings } from '@gwk/core/config/tracing';

/** Settings of `gwk worker`. */
export const workerSettings = {
  ...shared.stores,
  databasePool: setting(
    'GWK_WORKER_DATABASE_POOL',
    types.integer(2, 200).default(8),
    'Maximum connections to Postgres per worker process.',
  ),
  ...shared.program,
  environmentPolicy: setting(
    'GWK_WORKER_POLICY',
    types.parsed(parsePolicyJson).default({}),
    'Policy overrides of this environment, as JSON. Must equal GWK_API_POLICY.',
  ),
  ...shared.healthListener('GWK_WORKER', 8082),
  loopbackWebhooks: setting(
    'GWK_WORKER_LOOPBACK_WEBHOOKS',
    types.flag().default(false),
    'Deliver to webhook endpoints of the form http://127.0.0.1:PORT/. Only for a gateway on one machine.',
  ),
  forbiddenRanges: setting(
    'GWK_WORKER_FORBIDDEN_RANGES',
    types.ranges().default([]),
    'Address ranges (CIDR, separated by commas) that webhook calls and media fetches must not reach, in addition to private ranges. Add the ranges of your cluster.',
  ),
  ...proxySettings(
    'GWK_WORKER',
    'webhook calls, media fetches, the bucket, the SMTP server and the client version',
  ),
  proxyNames: setting(
    'GWK_WORKER_PROXY_NAMES',
    types.oneOf('resolve', 'trust').default('resolve'),
    'Names in webhook and media URLs that the worker, behind a proxy, cannot resolve. `resolve`: the worker refuses them. `trust`: it passes them to the proxy, which must refuse private addresses. In both cases the worker refuses private addresses, and names that it resolves to private ones.',
  ),
  clientVersion: shared.clientVersion(
    'GWK_WORKER',
    'With `auto`, workers read the version that the network serves to its own web client, every 4.5 to 6 hours and after a refusal. With other values they read nothing.',
  ),
  clientVersionUrl: setting(
    'GWK_WORKER_CLIENT_VERSION_URL',
    types.url('http', 'https').default('https://web.whatsapp.com/sw.js'),
    'Address of the script that states the served version.',
  ),
  webhookTimeoutMs: setting(
    'GWK_WORKER_WEBHOOK_TIMEOUT_MS',
    types.integer(100, 60_000).default(15_000),
    'Timeout of a webhook call (milliseconds).',
  ),
  webhookCa: setting(
    'GWK_WORKER_WEBHOOK_CA',
    types.text().optional(),
    'Certificate authority (PEM) of webhook receivers, in addition to public authorities, for the hosts in GWK_WORKER_WEBHOOK_CA_HOSTS.',
  ),
  webhookCaHosts: setting(
    'GWK_WORKER_WEBHOOK_CA_HOSTS',
    types.text().default(''),
    'Hosts whose certificates GWK_WORKER_WEBHOOK_CA may sign: names with their subdomains, separated by commas.',
  ),
  webhookConcurrency: setting(
    'GWK_WORKER_WEBHOOK_CONCURRENCY',
    types.integer(1, 5000).default(256),
    'Maximum concurrent webhook calls per worker.',
  ),
  webhookConcurrencyPerEndpoint: setting(
    'GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT',
    types.integer(1, 500).default(10),
    'Maximum concurrent webhook calls per worker to one endpoint, so that a slow endpoint cannot occupy the worker.',
  ),
  mediaUrl: setting(
    'GWK_MEDIA_URL',
    types.url('http', 'https').default('http://127.0.0.1:8080'),
    'Public base URL of media links. Must equal the address that the API uses: GWK_MEDIA_URL, or GWK_API_BASE_URL.',
  ),
  consoleUrl: setting(
    'GWK_WORKER_CONSOLE_URL',
    types.url('http', 'https').optional(),
    'Public URL of the console, for links in alerts: GWK_API_CONSOLE_URL or GWK_API_BASE_URL. Without it alerts have no link.',
  ),
  ...mediaStoreSettings,
  ...accountLimitSettings,
  mediaConcurrency: setting(
    'GWK_WORKER_MEDIA_CONCURRENCY',
    types.integer(1, 500).default(24),
    'Maximum messages that one worker prepares at once (fetching files, making previews).',
  ),
  mediaDecoders: setting(
    'GWK_WORKER_MEDIA_DECODERS',
    types.integer(1, 100).default(2),
    'Maximum processes per worker that decode and convert files. Films leave one of them for other files; with 1, a film delays all files.',
  ),
  mediaFetchMs: setting(
    'GWK_WORKER_MEDIA_FETCH_MS',
    types.integer(100, 600_000).default(60_000),
    'Timeout for fetching one file (milliseconds). Documents have more if GWK_MEDIA_MAX_MB exceeds 64, in proportion.',
  ),
  mediaDecodeMs: setting(
    'GWK_WORKER_MEDIA_DECODE_MS',
    types.integer(100, 600_000).default(60_000),
    'Timeout for decoding or converting one file, except videos (milliseconds).',
  ),
  mediaConvertMs: setting(
    'GWK_WORKER_MEDIA_CONVERT_MS',
    types.integer(100, 840_000).default(600_000),
    'Timeout for converting one video (milliseconds).',
  ),
  mediaDecodeMb: setting(
    'GWK_WORKER_MEDIA_DECODE_MB',
    types.integer(256, 16_384).default(1_024),
    'Memory limit of a process that decodes or converts files (megabytes). The worker kills a process that exceeds it.',
  ),
  decoder: setting(
    'GWK_WORKER_DECODER',
    types.text().optional(),
    'Path of the socket of a decoder (`gwk decoder`), which then decodes all files. Default: the worker starts one as a child process. Required with the image of the worker, which contains none.',
  ),
  ffmpeg: setting(
    'GWK_WORKER_FFMPEG',
    types.text().optional(),
    'Path of ffmpeg, 5.1 or later. Default: the one in PATH.',
  ),
  loopbackMedia: setting(
    'GWK_WORKER_LOOPBACK_MEDIA',
    types.flag().default(false),
    'Allow media fetches from http://127.0.0.1:PORT/. Only for tests.',
  ),
  prometheusUrl: secretSetting(
    'PROMETHEUS_URL',
    types.url('http', 'https').optional(),
    'Address of Prometheus or a compatible API (Thanos, Mimir), with user and password if it needs them. The worker queries it for when an unresponsive engine was last connected. Default: the worker reads heartbeats in Redis.',
  ),
  expireAfterMs: setting(
    'GWK_WORKER_EXPIRE_AFTER_MS',
    types.integer(1000, 86_400_000).default(900_000),
    'How long a message waits while its instance is not connected, before it fails with `expired` (milliseconds).',
  ),
  unconfirmedTimeoutMs: setting(
    'GWK_WORKER_UNCONFIRMED_TIMEOUT_MS',
    types.integer(1000, 86_400_000).default(900_000),
    'How long a message may wait for its acknowledgement by the network, before it fails with `timeout` (milliseconds).',
  ),
  messageDays: setting(
    'GWK_WORKER_MESSAGE_DAYS',
    types.integer(1, 3650).default(90),
    'Retention of messages (days).',
  ),
  eventDays: setting(
    'GWK_WORKER_EVENT_DAYS',
    types.integer(1, 3650).default(90),
    'Retention of events (days).',
  ),
  deliveryDays: setting(
    'GWK_WORKER_DELIVERY_DAYS',
    types.integer(1, 3650).default(90),
    'Retention of the webhook delivery log (days).',
  ),
  contentHours: setting(
    'GWK_WORKER_CONTENT_HOURS',
    types.integer(0, 168).default(24),
    'Retention of encrypted message content after the message was sent (hours).',
  ),
  stateMonths: setting(
    'GWK_WORKER_STATE_MONTHS',
    types.integer(1, 120).default(25),
    'Retention of instance states, the data of availability (months).',
  ),
  auditMonths: setting(
    'GWK_WORKER_AUDIT_MONTHS',
    types.integer(1, 120).default(25),
    'Retention of the audit log (months).',
  ),
  monitorFrom: setting(
    'GWK_WORKER_MONITOR_FROM',
    types.matching(/^ins_[0-9a-f]{32}$/, 'the id of an instance (ins_...)').optional(),
    'Instance that sends test messages in each interactive format; GET /v1/status/interactive shows the results. Without it no checks run.',
  ),
  monitorTo: setting(
    'GWK_WORKER_MONITOR_TO',
    types.matching(/^ins_[0-9a-f]{32}$/, 'the id of an instance (ins_...)').optional(),
    'Instance that receives the test messages.',
  ),
  monitorEveryMinutes: setting(
    'GWK_WORKER_MONITOR_EVERY_MINUTES',
    types.integer(1, 1440).default(60),
    'Interval between two checks of a format (minutes).',
  ),
  ...mailSettings,
  ...tracingSettings,
};

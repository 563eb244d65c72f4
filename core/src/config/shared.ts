import { CLIENT_VERSION_MEANING, CLIENT_VERSION_SETTING } from '../client-version.js';
import { parseEncryptionKeys } from '../crypto/encryption.js';
import { MAX_DOCUMENT_MB, MAX_MEDIA_BYTES, MEGABYTE } from '../resources/media-sizes.js';
import { secretSetting, setting, types } from './load.js';

/** Settings that several programs share. */
export const databaseUrl = secretSetting(
  'DATABASE_URL',
  types.url('postgres', 'postgresql'),
  'Address of Postgres, with user, password and database.',
);

export const redisUrl = secretSetting(
  'REDIS_URL',
  types.url('redis', 'rediss'),
  'Address of Redis, with user and password if it needs them.',
);

export const databaseCa = setting(
  'GWK_DATABASE_CA',
  types.text().optional(),
  'Certificate authority (PEM) that must have signed the certificate of Postgres. If set, connections use TLS and verify the host name, whatever `sslmode` says.',
);

export const redisCa = setting(
  'GWK_REDIS_CA',
  types.text().optional(),
  'Certificate authority (PEM) that must have signed the certificate of Redis, for `rediss://` addresses. Engines use it too.',
);

export const redisPrefix = setting(
  'GWK_REDIS_PREFIX',
  types.matching(/^[a-zA-Z0-9:_-]*:$/, 'letters, digits, - and _, ending in a colon').default('gwk:'),
  'Prefix of all Redis keys. Gateways that share a Redis need different prefixes.',
);

export const encryptionKeys = secretSetting(
  'GWK_ENCRYPTION_KEYS',
  types.parsed(parseEncryptionKeys),
  'Keys for encryption at rest: 32 bytes in base64 each, separated by commas, newest first. The first key encrypts; all keys decrypt.',
);

export const logLevel = setting(
  'GWK_LOG_LEVEL',
  types.oneOf('debug', 'info', 'warn', 'error').default('info'),
  'Minimum severity of log lines.',
);

/** Bearer tokens of a program, in a list that rotates. */
export const TOKENS = /^[\x21-\x2b\x2d-\x7e]{32,}(,[\x21-\x2b\x2d-\x7e]{32,})*$/;
export const TOKENS_MEANING = 'a token of at least 32 characters, or several separated by commas';

export const operatorToken = secretSetting(
  'GWK_OPERATOR_TOKEN',
  types.matching(TOKENS, TOKENS_MEANING),
  'Bearer token that the operator uses to call the internal API. To rotate it, list several tokens, separated by commas: the operator sends the first, the API accepts all.',
);

/** Splits the value of GWK_OPERATOR_TOKEN. */
export const parseTokens = (text: string): [string, ...string[]] => text.split(',') as [string, ...string[]];

export const exitWithParent = setting(
  'GWK_EXIT_WITH_PARENT',
  types.flag().default(false),
  'Exit when standard input closes. The local gateway uses it so that no program outlives its parent.',
);

/** The operator derives the temporary folder of engines from it. */
export const mediaMaxMb = setting(
  'GWK_MEDIA_MAX_MB',
  types.integer(MAX_MEDIA_BYTES / MEGABYTE, MAX_DOCUMENT_MB).default(100),
  'Largest file, in MB (1,048,576 bytes). Only documents may be larger than 64 MB. API, worker and operator must use the same value.',
);

/** Settings of the programs that use both stores: API and worker. */
export const stores = { databaseUrl, databaseCa, redisUrl, redisCa, redisPrefix, encryptionKeys };

/** Settings of every program that runs until a signal. */
export const program = { logLevel, exitWithParent };

/** Address of the listener of health and metrics. */
export const healthListener = (prefix: string, port: number, portDoc = '') => ({
  host: setting(
    `${prefix}_HOST`,
    types.text().default('0.0.0.0'),
    'Address of the health and metrics listener.',
  ),
  port: setting(
    `${prefix}_PORT`,
    types.integer(0, 65535).default(port),
    `Port of the health and metrics listener.${portDoc}`,
  ),
});

export const internalApi = (prefix: string, urlDoc: string) => ({
  internalUrl: setting(`${prefix}_INTERNAL_URL`, types.url('http', 'https'), urlDoc),
  internalCa: setting(
    `${prefix}_INTERNAL_CA`,
    types.text().optional(),
    'Certificate authority (PEM) that must have signed the certificate of the internal listener.',
  ),
});

/** The client version that engines announce to the network. */
export const clientVersion = (prefix: string, doc: string) =>
  setting(
    `${prefix}_CLIENT_VERSION`,
    types.matching(CLIENT_VERSION_SETTING, `auto, bundled, or ${CLIENT_VERSION_MEANING}`).default('auto'),
    doc,
  );

/** Simulated networks for tests. The operator passes its settings to the engines. */
export const simulatedNetworks = (prefix: string) => ({
  sandboxNetwork: setting(
    `${prefix}_SANDBOX_NETWORK`,
    types.url('http').optional(),
    'Address of a program that simulates the network for sandbox engines. Without it each engine simulates the network itself.',
  ),
  networkUrl: setting(
    `${prefix}_NETWORK_URL`,
    types.url('ws', 'wss').optional(),
    'Address of a simulated messaging network that engines use instead of the real one.',
  ),
  networkRoot: setting(
    `${prefix}_NETWORK_ROOT`,
    types.matching(/^[0-9a-f]{64}$/, '32 bytes in hex').optional(),
    'Root key of the certificates of the simulated network.',
  ),
  networkCa: setting(
    `${prefix}_NETWORK_CA`,
    types.text().optional(),
    'Certificate authority (PEM) of the media hosts of the simulated network.',
  ),
});

import { secretSetting, setting, types } from './load.js';

/** Settings that several programs have in common. */
export const databaseUrl = secretSetting(
  'DATABASE_URL',
  types.url('postgres', 'postgresql'),
  'Address of Postgres, with user, password and database.',
);

export const redisUrl = secretSetting(
  'REDIS_URL',
  types.url('redis', 'rediss'),
  'Address of Redis, with user and password where it has them.',
);

export const databaseCa = setting(
  'GWK_DATABASE_CA',
  types.text().optional(),
  'Certificate authority (PEM) that Postgres is checked against. With it TLS is spoken, and the name of the server checked, whatever sslmode says.',
);

export const redisCa = setting(
  'GWK_REDIS_CA',
  types.text().optional(),
  'Certificate authority (PEM) that Redis is checked against where its address is rediss://, by engines too.',
);

export const redisPrefix = setting(
  'GWK_REDIS_PREFIX',
  types.matching(/^[a-zA-Z0-9:_-]*:$/, 'letters, digits, - and _, ending in a colon').default('gwk:'),
  'What every Redis key begins with, so that several gateways can share one Redis.',
);

export const encryptionKeys = secretSetting(
  'GWK_ENCRYPTION_KEYS',
  types.text(),
  'Keys of the encryption at rest: 32 bytes in base64 each, separated by commas, the newest first. The first seals; all open.',
);

export const logLevel = setting(
  'GWK_LOG_LEVEL',
  types.oneOf('debug', 'info', 'warn', 'error').default('info'),
  'The least severe log lines written.',
);

export const operatorToken = secretSetting(
  'GWK_OPERATOR_TOKEN',
  types.matching(
    /^[\x21-\x2b\x2d-\x7e]{32,}(,[\x21-\x2b\x2d-\x7e]{32,})*$/,
    'a token of at least 32 characters, or several separated by commas',
  ),
  'What the operator shows to the internal port. Of several, separated by commas, the operator shows the first and the API takes each: so it is rotated.',
);

/** Of a setting that holds several. */
export const parseTokens = (text: string): [string, ...string[]] => text.split(',') as [string, ...string[]];

export const exitWithParent = setting(
  'GWK_EXIT_WITH_PARENT',
  types.flag().default(false),
  'Stop when standard input closes: on one machine a program never outlives what started it.',
);

import { randomBytes } from 'node:crypto';

/** A Secret that an installation needs once. */
export interface SecretSpec {
  name: string;
  type: 'Opaque' | 'kubernetes.io/tls';
  keys: readonly string[];
  /** Generates new values at each call, so call it only if the Secret is missing. */
  generate: () => Promise<Record<string, string>> | Record<string, string>;
}

export interface SecretsOptions {
  /** Name of the Secret with the gateway's keys. */
  gateway?: string;
  /** Name of the Secret with the certificate of the internal API. */
  internalTls?: string;
  /** Host names of the internal API, separated by commas. */
  internalNames?: string;
  /** Name of the Secret for the Postgres and Redis of a trial installation. */
  demo?: string;
  demoPostgresHost?: string;
  demoRedisHost?: string;
}

const ENCRYPTION_KEY_BYTES = 32;
const TOKEN_BYTES = 32;

export function listSecretSpecs(options: SecretsOptions): SecretSpec[] {
  const { gateway, internalTls, internalNames = '', demo } = options;
  const specs: SecretSpec[] = [];
  if (gateway !== undefined) {
    specs.push({
      name: gateway,
      type: 'Opaque',
      keys: ['encryption-keys', 'operator-token'],
      generate: () => ({
        'encryption-keys': randomBytes(ENCRYPTION_KEY_BYTES).toString('base64'),
        'operator-token': randomBytes(TOKEN_BYTES).toString('hex'),
      }),
    });
  }
  if (internalTls !== undefined) {
    specs.push({
      name: internalTls,
      type: 'kubernetes.io/tls',
      keys: ['tls.crt', 'tls.key', 'ca.crt'],
      generate: async () => {
        const { makeServerCertificate } = await import('./certificate.js');
        const { ca, cert, key } = await makeServerCertificate(internalNames.split(','));
        return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
      },
    });
  }
  if (demo !== undefined) specs.push(buildDemoSecret(demo, options));
  return specs;
}

function buildDemoSecret(
  name: string,
  { demoPostgresHost = '', demoRedisHost = '' }: SecretsOptions,
): SecretSpec {
  return {
    name,
    type: 'Opaque',
    keys: ['postgres-password', 'postgres-url', 'redis-password', 'redis-url'],
    generate: () => {
      const postgres = randomBytes(TOKEN_BYTES).toString('hex');
      const redis = randomBytes(TOKEN_BYTES).toString('hex');
      return {
        'postgres-password': postgres,
        'postgres-url': `postgresql://gwk:${postgres}@${demoPostgresHost}:5432/gwk`,
        'redis-password': redis,
        // redis-cli sends no user for an address without one, and the server then refuses the password.
        'redis-url': `redis://default:${redis}@${demoRedisHost}:6379`,
      };
    },
  };
}

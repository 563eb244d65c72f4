import { randomBytes } from 'node:crypto';
import { makeServerCertificate } from './certificate.js';

/** A Secret that an installation needs, and that somebody has to think of once. */
export interface SecretSpec {
  name: string;
  type: 'Opaque' | 'kubernetes.io/tls';
  keys: readonly string[];
  /** Anew each time: to be asked for only where the Secret is not there. */
  make: () => Record<string, string>;
}

export interface SecretNames {
  /** Name of the Secret of the gateway's own keys. */
  gateway?: string | undefined;
  /** Name of the Secret of the internal port's certificate. */
  internalTls?: string | undefined;
  /** Host names of the internal port. */
  internalNames?: readonly string[] | undefined;
  /** Name of the Secret of a trial's own Postgres and Redis. */
  demo?: { name: string; postgresHost: string; redisHost: string } | undefined;
}

const SEALING_KEY_BYTES = 32;
const TOKEN_BYTES = 32;

export function listSecretSpecs({
  gateway,
  internalTls,
  internalNames = [],
  demo,
}: SecretNames): SecretSpec[] {
  const wanted: SecretSpec[] = [];
  if (gateway !== undefined) {
    wanted.push({
      name: gateway,
      type: 'Opaque',
      keys: ['sealing-keys', 'operator-token'],
      make: () => ({
        'sealing-keys': randomBytes(SEALING_KEY_BYTES).toString('base64'),
        'operator-token': randomBytes(TOKEN_BYTES).toString('hex'),
      }),
    });
  }
  if (internalTls !== undefined) {
    wanted.push({
      name: internalTls,
      type: 'kubernetes.io/tls',
      keys: ['tls.crt', 'tls.key', 'ca.crt'],
      make: () => {
        const { ca, cert, key } = makeServerCertificate(internalNames);
        return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
      },
    });
  }
  if (demo) wanted.push(demoSecret(demo));
  return wanted;
}

function demoSecret({ name, postgresHost, redisHost }: NonNullable<SecretNames['demo']>): SecretSpec {
  return {
    name,
    type: 'Opaque',
    keys: ['postgres-password', 'postgres-url', 'redis-password', 'redis-url'],
    make: () => {
      const postgres = randomBytes(TOKEN_BYTES).toString('hex');
      const redis = randomBytes(TOKEN_BYTES).toString('hex');
      return {
        'postgres-password': postgres,
        'postgres-url': `postgresql://gwk:${postgres}@${postgresHost}:5432/gwk`,
        'redis-password': redis,
        'redis-url': `redis://:${redis}@${redisHost}:6379`,
      };
    },
  };
}

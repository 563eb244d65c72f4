import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from './folder.js';

export interface Secrets {
  encryptionKey: string;
  operatorToken: string;
  clusterToken: string;
  postgresPassword: string;
  redisPassword: string;
}

/** Loads the secrets, created at the first run. The database is encrypted with them, and the servers use them. */
export function loadSecrets(file: string): Secrets {
  const stored = readJson(file) as Partial<Secrets> | undefined;
  const secrets: Secrets = {
    encryptionKey: stored?.encryptionKey ?? randomBytes(32).toString('base64'),
    operatorToken: stored?.operatorToken ?? token(),
    clusterToken: stored?.clusterToken ?? token(),
    postgresPassword: stored?.postgresPassword ?? token(),
    redisPassword: stored?.redisPassword ?? token(),
  };
  if (JSON.stringify(stored) !== JSON.stringify(secrets)) writePrivateJson(file, secrets);
  return secrets;
}

const token = () => randomBytes(24).toString('hex');

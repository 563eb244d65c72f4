import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from './folder.js';

export interface Secrets {
  sealingKey: string;
  operatorToken: string;
  clusterToken: string;
  postgresPassword: string;
  redisPassword: string;
}

/** Made once: the database is sealed with them, and the servers were set up with them. */
export function loadSecrets(file: string): Secrets {
  const kept = readJson(file) as Partial<Secrets> | undefined;
  const secrets: Secrets = {
    sealingKey: kept?.sealingKey ?? randomBytes(32).toString('base64'),
    operatorToken: kept?.operatorToken ?? token(),
    clusterToken: kept?.clusterToken ?? token(),
    postgresPassword: kept?.postgresPassword ?? token(),
    redisPassword: kept?.redisPassword ?? token(),
  };
  if (JSON.stringify(kept) !== JSON.stringify(secrets)) writePrivateJson(file, secrets);
  return secrets;
}

const token = () => randomBytes(24).toString('hex');

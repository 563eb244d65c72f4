import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from './folder.js';

export type Secrets = ReturnType<typeof generateSecrets>;

/** Loads the secrets, created at the first run. The database is encrypted with them, and the servers use them. */
export function loadSecrets(file: string): Secrets {
  const stored = readJson(file) as Partial<Secrets> | undefined;
  const secrets = { ...generateSecrets(), ...stored };
  if (JSON.stringify(stored) !== JSON.stringify(secrets)) writePrivateJson(file, secrets);
  return secrets;
}

function generateSecrets() {
  const token = () => randomBytes(24).toString('hex');
  return {
    encryptionKey: randomBytes(32).toString('base64'),
    operatorToken: token(),
    clusterToken: token(),
    postgresPassword: token(),
    redisPassword: token(),
  };
}

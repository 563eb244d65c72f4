import crypto, { createSecretKey } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Passes keys to Node as key objects in the whole process, for Baileys and libsignal too. For a key in bytes Node first
 * throws and catches an error, which took a third of the processor time of the network. Only the program does this: in
 * tests, clients must use Node as they do elsewhere.
 */
export function passKeyObjects(): void {
  crypto.createHmac = withKeyObject(crypto.createHmac);
  crypto.createCipheriv = withKeyObject(crypto.createCipheriv);
  crypto.createDecipheriv = withKeyObject(crypto.createDecipheriv);
  syncBuiltinESMExports();
}

function withKeyObject<Create>(create: Create): Create {
  const stock = create as (algorithm: string, key: unknown, ...rest: unknown[]) => unknown;
  const changed: typeof stock = (algorithm, key, ...rest) =>
    stock(algorithm, key instanceof Uint8Array ? createSecretKey(key) : key, ...rest);
  return changed as Create;
}

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { withKeyObject } from '@gwk/core/crypto/key-objects';

/**
 * Passes keys to Node as key objects in the whole process, for Baileys and libsignal too: keys in bytes took a third of
 * the processor time of the network. Only the program does this: in tests, clients must use Node as they do elsewhere.
 */
export function passKeyObjects(): void {
  crypto.createHmac = withKeyObject(crypto.createHmac);
  crypto.createCipheriv = withKeyObject(crypto.createCipheriv);
  crypto.createDecipheriv = withKeyObject(crypto.createDecipheriv);
  syncBuiltinESMExports();
}

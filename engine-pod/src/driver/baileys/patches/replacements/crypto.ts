import { withKeyObject } from '@gwk/core/crypto/key-objects';
import {
  createCipheriv as stockCipheriv,
  createDecipheriv as stockDecipheriv,
  createHmac as stockHmac,
} from 'node:crypto';

/** Node's module with keys passed as key objects. Baileys makes a cipher for each frame. */
export * from 'node:crypto';

export const createCipheriv = withKeyObject(stockCipheriv);
export const createDecipheriv = withKeyObject(stockDecipheriv);
export const createHmac = withKeyObject(stockHmac);

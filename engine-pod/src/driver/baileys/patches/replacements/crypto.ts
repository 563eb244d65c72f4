import {
  createCipheriv as stockCipheriv,
  createDecipheriv as stockDecipheriv,
  createHmac as stockHmac,
  createSecretKey,
} from 'node:crypto';

/**
 * Node's module with keys passed as key objects: for bytes Node first throws and catches an error, which takes 22 of the
 * 27 us of a cipher. Baileys makes a cipher for each frame.
 */
export * from 'node:crypto';

const toKeyObject = (key: unknown): unknown => (key instanceof Uint8Array ? createSecretKey(key) : key);

const withKeyObject = <Create extends typeof stockCipheriv | typeof stockDecipheriv | typeof stockHmac>(
  create: Create,
): Create =>
  ((algorithm: string, key: unknown, ...rest: unknown[]) =>
    (create as (...all: unknown[]) => unknown)(algorithm, toKeyObject(key), ...rest)) as Create;

export const createCipheriv = withKeyObject(stockCipheriv);
export const createDecipheriv = withKeyObject(stockDecipheriv);
export const createHmac = withKeyObject(stockHmac);

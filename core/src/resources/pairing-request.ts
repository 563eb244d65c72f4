import { z } from 'zod';
import { PAIRING_METHODS } from './pairing.js';

/**
 * Pairing with the credentials of the cluster alone (`gwk pair`): the wish is an annotation of the resource, written
 * by whoever may change it, and what there is to scan is a Secret beside it, so that who may only look at Instances
 * sees no code. Both go when the pairing is over.
 */
export const PAIRING_ANNOTATION = 'gwk.dev/pairing';

export const PairingPhone = z.string().regex(/^[0-9]{8,15}$/);

export const PairingRequest = z.strictObject({
  /** Another one is another wish: what failed is tried again. */
  id: z.string().min(1).max(64),
  method: z.enum(PAIRING_METHODS),
  phone: PairingPhone.nullable(),
  /** Not heeded afterwards: whoever wished may have gone away. */
  until: z.iso.datetime(),
});
export type PairingRequest = z.infer<typeof PairingRequest>;

/** What the Secret holds, as one JSON text. */
export const PairingView = z.object({
  /** Id of the wish that this answers. */
  wish: z.string(),
  method: z.enum(PAIRING_METHODS),
  /** Null: none yet, or the last one has run out and its successor is on its way. */
  code: z.string().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  /** Why there will be none. */
  error: z.string().nullable(),
});
export type PairingView = z.infer<typeof PairingView>;

export const PAIRING_FIELD = 'pairing';
export const pairingSecretName = (resourceName: string): string => `gwk-${resourceName}-pairing`;

/** Null: there is none, or it is not one. */
export function readPairingRequest(annotations: Record<string, string> | undefined): PairingRequest | null {
  const text = annotations?.[PAIRING_ANNOTATION];
  if (text === undefined) return null;
  try {
    const wish = PairingRequest.safeParse(JSON.parse(text));
    return wish.success && (wish.data.method === 'qr' || wish.data.phone !== null) ? wish.data : null;
  } catch {
    return null;
  }
}

import { z } from 'zod';
import { PAIRING_METHODS } from './pairing.js';

/**
 * Pairing with cluster credentials only (`gwk pair`). The request is an annotation of the Instance, so writing it
 * requires the right to change the resource. The code to scan is in a Secret, so that users with read access to
 * Instances cannot see it. The operator removes both after the pairing.
 */
export const PAIRING_ANNOTATION = 'gwk.dev/pairing';

export const PairingPhone = z.string().regex(/^[0-9]{8,15}$/);

export const PairingRequest = z.strictObject({
  /** A new id is a new request, which retries a failed pairing. */
  id: z.string().min(1).max(64),
  method: z.enum(PAIRING_METHODS),
  phone: PairingPhone.nullable(),
  /** The operator ignores the request afterwards, because the user may have left. */
  until: z.iso.datetime(),
});
export type PairingRequest = z.infer<typeof PairingRequest>;

export const PasskeyPage = z.object({ page: z.url().nullable() });

/** Content of the Secret, as one JSON text. */
export const PairingView = z.object({
  /** Id of the pairing request that it belongs to. */
  request: z.string(),
  method: z.enum(PAIRING_METHODS),
  /** Null: no code yet, or the last one has expired and the next one is on its way. */
  code: z.string().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  /** Why there will be no code. */
  error: z.string().nullable(),
  /** Set while the phone waits for a passkey. */
  passkey: PasskeyPage.nullish(),
});
export type PairingView = z.infer<typeof PairingView>;

export const PAIRING_FIELD = 'pairing';
export const pairingSecretName = (resourceName: string): string => `gwk-${resourceName}-pairing`;

/** @returns null without a valid request */
export function readPairingRequest(annotations: Record<string, string> | undefined): PairingRequest | null {
  const text = annotations?.[PAIRING_ANNOTATION];
  if (text === undefined) return null;
  try {
    const { success, data } = PairingRequest.safeParse(JSON.parse(text));
    return success && (data.method === 'qr' || data.phone !== null) ? data : null;
  } catch {
    return null;
  }
}

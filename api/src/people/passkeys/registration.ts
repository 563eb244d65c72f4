import type { PasskeyCreate } from '../../resources/console/passkey.js';
import type { z } from 'zod';
import type { User } from '../../generated/prisma/client.js';
import type { Exchange } from '../../http/exchange.js';
import type { Services } from '../../http/services.js';
import { findRelyingParty, toHandle } from './assertions.js';
import { createChallenge, type Ceremony } from './challenges.js';

/** Ed25519, ECDSA with P-256 and RSA, which all authenticators together cover. */
const ALGORITHMS = [-8, -7, -257];

/** Returns the request for a new passkey. One that works without a password is preferred, not required. */
export async function requestRegistration(
  services: Services,
  req: Exchange,
  { user, ceremony }: { user: User; ceremony: Ceremony },
) {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const known = await services.db.passkey.findMany({ where: { userId: user.id } });
  return {
    ...(await generateRegistrationOptions({
      rpName: 'gwk',
      rpID: findRelyingParty(req, services).rpID,
      userID: toHandle(user.id),
      userName: user.email,
      userDisplayName: user.name,
      challenge: await createChallenge(services.db, ceremony),
      supportedAlgorithmIDs: ALGORITHMS,
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      excludeCredentials: known.map(({ credentialId }) => ({
        id: Buffer.from(credentialId).toString('base64url'),
      })),
    })),
  };
}

/** Verifies a new passkey, whose challenge was redeemed. Returns its columns; null if anything is wrong. */
export async function verifyRegistration(
  services: Services,
  req: Exchange,
  { credential, challenge }: { credential: z.output<typeof PasskeyCreate>['credential']; challenge: string },
) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { origin, rpID } = findRelyingParty(req, services);
  try {
    if (!(await isAttestationFree(credential.response.attestationObject))) return null;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { ...credential, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!registrationInfo) return null;
    const { id, publicKey, counter } = registrationInfo.credential;
    const credentialId = new Uint8Array(Buffer.from(id, 'base64url'));
    const { transports } = credential.response;
    return { credentialId, publicKey, counter, transports, rpId: rpID };
  } catch {
    return null;
  }
}

/**
 * Whether the passkey has no certificates. The options ask for none, and the library would fetch the addresses of
 * revocation lists in them, which the sender chooses.
 */
async function isAttestationFree(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
}

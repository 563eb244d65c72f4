import type { Logger } from '@gwk/core/process/log';
import type { PasskeyUse } from '../../resources/console/passkey.js';
import type { Database } from '../../database/database.js';
import type { Passkey } from '../../generated/prisma/client.js';
import type { Exchange } from '../../http/exchange.js';
import type { Services } from '../../http/services.js';
import { requireOrigin } from '../../http/session-access.js';
import { createChallenge, readChallenge, redeemChallenge, type Ceremony } from './challenges.js';

/** The relying party is the host of the console's origin, which the settings allow. The Host header decides nothing. */
export function findRelyingParty(req: Exchange, { config }: Services): { origin: string; rpID: string } {
  const origin = requireOrigin(req, config);
  return { origin, rpID: new URL(origin).hostname };
}

/** Returns the request for the authenticator. @param passkeys those that may answer; default: any that is discoverable */
export async function requestAssertion(
  services: Services,
  req: Exchange,
  { ceremony, passkeys = [] }: { ceremony: Ceremony; passkeys?: Passkey[] },
) {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
  const { rpID } = findRelyingParty(req, services);
  return {
    ...(await generateAuthenticationOptions({
      rpID,
      challenge: await createChallenge(services.db, ceremony),
      userVerification: isOnlyFactor(ceremony) ? 'required' : 'preferred',
      allowCredentials: passkeys.map(({ credentialId, transports }) => ({
        id: Buffer.from(credentialId).toString('base64url'),
        transports,
      })),
    })),
  };
}

/** A passkey that replaces password and code must have verified the person, by a finger, a face or a PIN. */
const isOnlyFactor = ({ kind }: Ceremony): boolean => kind === 'sign-in';

export const findPasskey = (db: Database, id: string) =>
  db.passkey.findUnique({
    where: { credentialId: new Uint8Array(Buffer.from(id, 'base64url')) },
    include: { user: true },
  });

interface Assertion {
  /** Null: unknown, or of another person. */
  passkey: Passkey | null;
  credential: PasskeyUse['credential'];
  ceremony: Ceremony;
}

/** Verifies what the authenticator has signed, and uses up the challenge, also if the signature is wrong. */
export async function verifyAssertion(
  services: Services,
  req: Exchange,
  { passkey, credential, ceremony }: Assertion,
): Promise<boolean> {
  const { db, log } = services;
  const party = findRelyingParty(req, services);
  const expectedChallenge = readChallenge(credential.response.clientDataJSON);
  if (expectedChallenge === null || !(await redeemChallenge(db, expectedChallenge, ceremony))) return false;
  if (!passkey || !isOwner(passkey, credential.response.userHandle)) return false;
  const requireUserVerification = isOnlyFactor(ceremony);
  const counter = await verifySignature(passkey, credential, {
    ...party,
    expectedChallenge,
    requireUserVerification,
  });
  return counter !== null && advanceCounter(db, passkey, counter, log);
}

const isOwner = ({ userId }: Passkey, handle: string | undefined): boolean =>
  handle === undefined || handle === Buffer.from(toHandle(userId)).toString('base64url');

/** The handle of a user that authenticators store: the bytes of the id, which name nobody. */
export const toHandle = (userId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex'));

interface Expected {
  origin: string;
  rpID: string;
  expectedChallenge: string;
  requireUserVerification: boolean;
}

/** Returns the new counter; null if anything is wrong. The library throws for each fault. */
async function verifySignature(
  { credentialId, publicKey }: Passkey,
  credential: PasskeyUse['credential'],
  { origin, rpID, ...expected }: Expected,
): Promise<bigint | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const id = Buffer.from(credentialId).toString('base64url');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...expected,
      response: { ...credential, clientExtensionResults: {} },
      expectedOrigin: origin,
      expectedRPID: rpID,
      // advanceCounter compares the counters, so that it sees those of parallel sign-ins too.
      credential: { id, publicKey: new Uint8Array(publicKey), counter: 0 },
    });
    return verified ? BigInt(authenticationInfo.newCounter) : null;
  } catch {
    return null;
  }
}

/**
 * Stores the counter of the authenticator. One that goes back, or repeats, shows a copy of the passkey, which is refused.
 * Synced passkeys have no counter: it stays 0.
 */
async function advanceCounter(
  db: Database,
  passkey: Passkey,
  counter: bigint,
  log: Logger,
): Promise<boolean> {
  const { count } = await db.passkey.updateMany({
    where: { id: passkey.id, OR: [{ counter: { lt: counter } }, ...(counter === 0n ? [{ counter }] : [])] },
    data: { counter, lastUsedAt: new Date() },
  });
  if (count === 0) log.warn({ passkey_id: passkey.id }, 'passkey refused: its counter went back');
  return count > 0;
}

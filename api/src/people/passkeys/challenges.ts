import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import type { Queryable } from '../../database/database.js';

const BYTES = 32;

/** The use of a challenge, and the session that it belongs to; null: a sign-in without a session. */
export interface Ceremony {
  kind: 'registration' | 'sign-in' | 'second-factor';
  sessionId: string | null;
}

/** Creates a challenge that is valid once, for 5 minutes. */
export async function createChallenge(db: Queryable, { kind, sessionId }: Ceremony) {
  const challenge = new Uint8Array(randomBytes(BYTES));
  await db.$executeRaw`
    INSERT INTO passkey_challenges (id, challenge, kind, session_id, expires_at)
    VALUES (${newUuid()}::uuid, ${challenge}, ${kind}, ${sessionId}::uuid, now() + interval '5 minutes')`;
  return challenge;
}

/** Uses up the challenge that the browser has signed. One statement, so that of two uses at once only one succeeds. */
export async function redeemChallenge(
  db: Queryable,
  challenge: string,
  { kind, sessionId }: Ceremony,
): Promise<boolean> {
  const used = await db.$executeRaw`
    DELETE FROM passkey_challenges
    WHERE challenge = ${new Uint8Array(Buffer.from(challenge, 'base64url'))} AND kind = ${kind}
      AND session_id IS NOT DISTINCT FROM ${sessionId}::uuid AND expires_at > now()`;
  return used > 0;
}

/** Reads the challenge from the client data of a credential; null: the data is malformed. */
export function readChallenge(clientData: string): string | null {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientData, 'base64url').toString());
    const challenge = (data as { challenge?: unknown } | null)?.challenge;
    return typeof challenge === 'string' ? challenge : null;
  } catch {
    return null;
  }
}

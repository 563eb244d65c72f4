import { hash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { Problem } from '@gwk/core/problems/problems';
import type { Queryable } from '../database/database.js';
import type { User } from '../generated/prisma/client.js';
import { codeSubject, verifyWithinLimits, type Attempt } from './sign-in/attempts.js';

const COLUMN = 'users.totp_sealed';
const ISSUER = 'gwk';
const PERIOD_S = 30;
/** Codes of the step before and after are accepted, for clocks that differ. */
const WINDOW = 1;
const SECRET_BYTES = 20;
const BACKUP_CODES = 10;
const BACKUP_BYTES = 10;
const TOTP_FORM = /^\d{6}$/;

type TotpUser = Pick<User, 'id' | 'email' | 'totpSealed' | 'totpConfirmedAt'>;

function openTotp(secret: Secret, email: string): TOTP {
  return new TOTP({ issuer: ISSUER, label: email, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_S });
}

/** Creates the secret of a user for an app. It counts once a code has confirmed it. */
export function newTotp(sealer: Sealer, { id, email }: Pick<User, 'id' | 'email'>) {
  const secret = new Secret({ size: SECRET_BYTES });
  const sealed = sealer.seal(id, COLUMN, new Uint8Array(secret.buffer));
  return { secret: secret.base32, uri: openTotp(secret, email).toString(), sealed: new Uint8Array(sealed) };
}

/** Returns the time step of a code, null if it is wrong. */
export function findStep(sealer: Sealer, user: TotpUser, code: string, now = Date.now()): number | null {
  if (!user.totpSealed) return null;
  const bytes = new Uint8Array(sealer.open(user.id, COLUMN, user.totpSealed));
  const totp = openTotp(new Secret({ buffer: bytes.buffer }), user.email);
  const delta = totp.validate({ token: code, timestamp: now, window: WINDOW });
  return delta === null ? null : Math.floor(now / 1000 / PERIOD_S) + delta;
}

/**
 * Uses up a code of the app or a backup code. The update and the deletion are one statement each, so that of two uses at
 * once only one succeeds. A code of the app is refused from the step of the last accepted code on backwards.
 */
async function redeemCode(
  { db, sealer }: { db: Queryable; sealer: Sealer },
  user: TotpUser,
  given: string,
): Promise<boolean> {
  const code = normalizeCode(given);
  if (!TOTP_FORM.test(code)) {
    const used = await db.$executeRaw`
      DELETE FROM backup_codes WHERE user_id = ${user.id}::uuid AND hash = ${hashCode(code)}`;
    return used > 0;
  }
  const step = findStep(sealer, user, code);
  if (step === null || user.totpConfirmedAt === null) return false;
  const accepted = await db.$executeRaw`
    UPDATE users SET totp_step = ${step} WHERE id = ${user.id}::uuid AND totp_step < ${step}`;
  return accepted > 0;
}

/**
 * Redeems a code within the limits of attempts.
 * @throws Problem `invalid-code`, `login-locked`
 */
export async function checkCode(
  services: { db: Queryable; sealer: Sealer },
  { user, code, ...attempt }: { user: TotpUser; code: string } & Pick<Attempt, 'client' | 'step'>,
): Promise<void> {
  const isGuessable = TOTP_FORM.test(normalizeCode(code));
  const of = { ...attempt, subject: codeSubject(user.id), userId: user.id, isGuessable };
  const isRight = await verifyWithinLimits(services.db, of, () => redeemCode(services, user, code));
  if (!isRight) throw new Problem('invalid-code');
}

export const normalizeCode = (given: string): string => given.replaceAll(/[\s-]/g, '').toUpperCase();

/** Creates backup codes of 80 random bits each. */
export function newBackupCodes(): { shown: string[]; hashes: Uint8Array<ArrayBuffer>[] } {
  const codes = Array.from({ length: BACKUP_CODES }, () => new Secret({ size: BACKUP_BYTES }).base32);
  return { shown: codes.map((code) => code.replace(/.{4}(?=.)/g, '$&-')), hashes: codes.map(hashCode) };
}

const hashCode = (code: string): Uint8Array<ArrayBuffer> => new Uint8Array(hash('sha256', code, 'buffer'));

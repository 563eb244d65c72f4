import { Problem } from '@gwk/core/problems/problems';
import { BackupCodes, CodeIn, TotpSetup } from '../resources/console/totp.js';
import { PersonProof } from '../resources/console/session.js';
import { audit } from '../accounts/audit-log.js';
import type { User } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import { checkCode, findStep, newBackupCodes, newTotp, normalizeCode } from './second-factor.js';
import { checkFirstFactor, provePerson } from './sign-in/proof.js';
import { PRIVATE, requireOpenSession } from './sign-in/sessions.js';

const PATH = '/console/api/profile/totp';

/** The proof of the person that the start needs holds for the confirmation, too. */
const CONFIRM_MS = 5 * 60_000;

/** The code of a removal also proves the person for another factor, which an account may require. */
const REPLACE_MS = 10 * 60_000;

const startTotp = operation({
  name: 'startTotp',
  method: 'POST',
  path: PATH,
  summary: 'Start to set up the second factor',
  description:
    'The secret counts once a code has confirmed it, within 5 minutes. Remove a confirmed one first. A wrong password counts as a failed sign-in.',
  scope: null,
  person: 'signed-in',
  status: 200,
  problems: [
    'invalid-credentials',
    'login-locked',
    'mfa-needs-link',
    'mfa-not-pending',
    'recent-sign-in-required',
  ],
  body: PersonProof,
  result: TotpSetup,
  async handle({ session, body: { password }, exchange, services }) {
    const { db, sealer } = services;
    const user = await provePerson(services, exchange, { session: session!, password, step: 'totp-setup' });
    await checkFirstFactor(services, user, session!);
    const { sealed, ...body } = newTotp(sealer, user);
    const { count } = await db.user.updateMany({
      where: { id: user.id, totpConfirmedAt: null },
      data: { totpSealed: sealed, totpStartedAt: new Date() },
    });
    if (count === 0) throw new Problem('mfa-not-pending');
    return { status: 200, body, headers: PRIVATE };
  },
});

const confirmTotp = operation({
  name: 'confirmTotp',
  method: 'POST',
  path: `${PATH}/confirm`,
  summary: 'Confirm the second factor',
  description:
    'Within 5 minutes of the start. From now on each sign-in needs a code. Ends all other sessions of the person.',
  scope: null,
  person: 'signed-in',
  status: 200,
  problems: ['mfa-setup-not-started', 'invalid-code'],
  body: CodeIn,
  result: BackupCodes,
  async handle({ session, body, services }) {
    const { db, sealer } = services;
    const { userId, id: sessionId } = session!;
    const user = await db.user.findUniqueOrThrow({ where: { id: userId } });
    if (!isSetUpOpen(user)) throw new Problem('mfa-setup-not-started');
    const step = findStep(sealer, user, normalizeCode(body.code));
    if (step === null) throw new Problem('invalid-code');
    const { shown, hashes } = newBackupCodes();
    await db.$transaction(async (tx) => {
      const { count } = await tx.user.updateMany({
        where: { id: userId, totpConfirmedAt: null, totpSealed: user.totpSealed },
        data: { totpConfirmedAt: new Date(), totpStep: step },
      });
      if (count === 0) throw new Problem('mfa-setup-not-started');
      await requireOpenSession(tx, sessionId);
      await tx.backupCode.deleteMany({ where: { userId } });
      await tx.backupCode.createMany({ data: hashes.map((hash) => ({ userId, hash })) });
      await tx.userSession.deleteMany({ where: { userId, id: { not: sessionId } } });
      await audit(tx, { actor: `user:${userId}`, accountId: null, action: 'user.totp-set', subject: userId });
    });
    services.sessions.clear();
    return { status: 200, body: { backup_codes: shown }, headers: PRIVATE };
  },
});

function isSetUpOpen({ totpSealed, totpConfirmedAt, totpStartedAt }: User): boolean {
  const startedAt = totpStartedAt?.getTime() ?? 0;
  return totpSealed !== null && totpConfirmedAt === null && startedAt > Date.now() - CONFIRM_MS;
}

const removeTotp = operation({
  name: 'removeTotp',
  method: 'POST',
  path: `${PATH}/remove`,
  summary: 'Remove the second factor and its backup codes',
  description:
    'With a code of the app or a backup code. Wrong codes are limited as in a sign-in. The person may set up another factor within 10 minutes, also after a sign-in by password.',
  scope: null,
  person: 'signed-in',
  status: 204,
  problems: ['mfa-setup-not-started', 'invalid-code', 'login-locked'],
  body: CodeIn,
  async handle({ session, body, exchange, services }) {
    const { db } = services;
    const { userId } = session!;
    const user = await db.user.findUniqueOrThrow({ where: { id: userId } });
    if (user.totpConfirmedAt === null) throw new Problem('mfa-setup-not-started');
    await checkCode(services, { user, code: body.code, client: exchange.ip ?? '', step: 'totp-removal' });
    await db.$transaction(async (tx) => {
      const { count } = await tx.user.updateMany({
        where: { id: userId, totpSealed: user.totpSealed },
        data: {
          totpSealed: null,
          totpConfirmedAt: null,
          factorSetUpUntil: new Date(Date.now() + REPLACE_MS),
        },
      });
      if (count === 0) return;
      await tx.backupCode.deleteMany({ where: { userId } });
      await tx.userSession.deleteMany({ where: { userId, pending: true } });
      await audit(tx, {
        actor: `user:${userId}`,
        accountId: null,
        action: 'user.totp-remove',
        subject: userId,
      });
    });
    services.sessions.clear();
    return { status: 204 };
  },
});

export const totpOperations = [startTotp, confirmTotp, removeTotp];

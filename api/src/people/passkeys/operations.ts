import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { PasskeyCreate, PasskeyList, PasskeyOptions, PasskeyOut } from '../../resources/console/passkey.js';
import { PersonProof } from '../../resources/console/session.js';
import type { z } from 'zod';
import { audit } from '../../accounts/audit-log.js';
import type { Passkey, Prisma } from '../../generated/prisma/client.js';
import { operation } from '../../http/operation.js';
import { checkFirstFactor, provePerson } from '../sign-in/proof.js';
import { PRIVATE, requireOpenSession } from '../sign-in/sessions.js';
import { readChallenge, redeemChallenge, type Ceremony } from './challenges.js';
import { requestRegistration, verifyRegistration } from './registration.js';

const PATH = '/console/api/profile/passkeys';
const MAX_PASSKEYS = 20;

const ceremonyOf = (sessionId: string): Ceremony => ({ kind: 'registration', sessionId });

const listPasskeys = operation({
  name: 'listPasskeys',
  method: 'GET',
  path: PATH,
  summary: 'List the passkeys of the person',
  scope: null,
  person: 'signed-in',
  status: 200,
  result: PasskeyList,
  async handle({ session, services: { db } }) {
    const rows = await db.passkey.findMany({ where: { userId: session!.userId }, orderBy: { id: 'asc' } });
    return { status: 200, body: { data: rows.map(viewPasskey) } };
  },
});

const startPasskey = operation({
  name: 'startPasskey',
  method: 'POST',
  path: `${PATH}/options`,
  summary: 'Start to add a passkey',
  description: 'A wrong password counts as a failed sign-in.',
  scope: null,
  person: 'signed-in',
  status: 200,
  problems: [
    'invalid-credentials',
    'login-locked',
    'mfa-needs-link',
    'recent-sign-in-required',
    'too-many-passkeys',
  ],
  body: PersonProof,
  result: PasskeyOptions,
  async handle({ session, body: { password }, exchange, services }) {
    const user = await provePerson(services, exchange, {
      session: session!,
      password,
      step: 'passkey-change',
    });
    await checkFirstFactor(services, user, session!);
    await checkNumber(services.db, user.id);
    const ceremony = ceremonyOf(session!.id);
    const body = await requestRegistration(services, exchange, { user, ceremony });
    return { status: 200, body, headers: PRIVATE };
  },
});

const createPasskey = operation({
  name: 'createPasskey',
  method: 'POST',
  path: PATH,
  summary: 'Add a passkey',
  description:
    'From now on a sign-in by password or link needs a passkey or a code too. Ends all other sessions of the person.',
  scope: null,
  person: 'signed-in',
  status: 201,
  problems: ['mfa-setup-not-started', 'invalid-code', 'too-many-passkeys'],
  body: PasskeyCreate,
  result: PasskeyOut,
  async handle({ session, body: { name, credential }, exchange, services }) {
    const { db } = services;
    const { userId, id: sessionId } = session!;
    const challenge = readChallenge(credential.response.clientDataJSON);
    if (challenge === null || !(await redeemChallenge(db, challenge, ceremonyOf(sessionId))))
      throw new Problem('mfa-setup-not-started');
    const verified = await verifyRegistration(services, exchange, { credential, challenge });
    if (!verified) throw new Problem('invalid-code');
    const row = await db.$transaction(async (tx) => {
      await lockUser(tx, userId);
      await requireOpenSession(tx, sessionId);
      await checkNumber(tx, userId);
      const data = [{ id: newUuid(), userId, name, ...verified }];
      const [created] = await tx.passkey.createManyAndReturn({ data, skipDuplicates: true });
      if (!created) throw new Problem('invalid-code');
      await tx.userSession.deleteMany({ where: { userId, id: { not: sessionId } } });
      await audit(tx, { ...byPerson(userId), action: 'user.passkey-add', detail: { name } });
      return created;
    });
    services.sessions.clear();
    return { status: 201, body: viewPasskey(row) };
  },
});

const removePasskey = operation({
  name: 'removePasskey',
  method: 'POST',
  path: `${PATH}/{passkey_id}/remove`,
  summary: 'Remove a passkey',
  description: 'A wrong password counts as a failed sign-in.',
  scope: null,
  person: 'signed-in',
  status: 204,
  problems: ['invalid-credentials', 'login-locked', 'recent-sign-in-required'],
  body: PersonProof,
  async handle({ session, params, body: { password }, exchange, services }) {
    const { db } = services;
    const where = { id: params['passkey_id']!, userId: session!.userId };
    if ((await db.passkey.count({ where })) === 0) throw new Problem('not-found');
    const { id: userId } = await provePerson(services, exchange, {
      session: session!,
      password,
      step: 'passkey-change',
    });
    await db.$transaction(async (tx) => {
      await lockUser(tx, userId);
      const { count } = await tx.passkey.deleteMany({ where });
      if (count === 0) throw new Problem('not-found');
      await tx.userSession.deleteMany({ where: { userId, pending: true } });
      await audit(tx, { ...byPerson(userId), action: 'user.passkey-remove' });
    });
    services.sessions.clear();
    return { status: 204 };
  },
});

/** Sign-ins lock the user too, so that one under way sees the change or ends with it. */
const lockUser = (tx: Prisma.TransactionClient, userId: string) =>
  tx.$queryRaw`SELECT 1 FROM users WHERE id = ${userId}::uuid FOR NO KEY UPDATE`;

const byPerson = (userId: string) => ({ actor: `user:${userId}`, accountId: null, subject: userId });

/** @throws Problem `too-many-passkeys` */
async function checkNumber(db: Pick<Prisma.TransactionClient, 'passkey'>, userId: string): Promise<void> {
  if ((await db.passkey.count({ where: { userId } })) >= MAX_PASSKEYS) throw new Problem('too-many-passkeys');
}

const viewPasskey = (row: Passkey): z.output<typeof PasskeyOut> => ({
  id: toPublicId('passkey', row.id),
  name: row.name,
  host: row.rpId,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
});

export const passkeyOperations = [listPasskeys, startPasskey, createPasskey, removePasskey];

import { toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { PasswordChange, ProfileSessionList, ProfileUpdate } from '../resources/console/profile.js';
import { SessionUser } from '../resources/console/session.js';
import { audit } from '../accounts/audit-log.js';
import { IDLE_HOURS } from '../accounts/sessions.js';
import { operation } from '../http/operation.js';
import { requirePasswords } from './oidc/passwords-off.js';
import { isWeak } from './weak-passwords.js';
import { verifyWithinLimits } from './sign-in/attempts.js';
import { countPasswordBy, forgetDevices, readDevice } from './sign-in/devices.js';
import { requireRecentSignIn } from './sign-in/proof.js';
import { requireOpenSession, viewUser, WITH_PASSKEY } from './sign-in/sessions.js';

const PATH = '/console/api/profile';
const HOUR_MS = 3_600_000;

const updateProfile = operation({
  name: 'updateProfile',
  method: 'PATCH',
  path: PATH,
  summary: 'Change name and language',
  scope: null,
  person: 'signed-in',
  status: 200,
  body: ProfileUpdate,
  result: SessionUser,
  async handle({ session, body: { name, language }, services }) {
    const data = { ...(name !== undefined && { name }), ...(language !== undefined && { language }) };
    const { userId } = session!;
    const row = await services.db.$transaction(async (tx) => {
      const before = await tx.user.findUniqueOrThrow({ where: { id: userId } });
      const isChanged = Object.entries(data).some(
        ([field, value]) => before[field as keyof typeof data] !== value,
      );
      const entry = { actor: `user:${userId}`, accountId: null, action: 'user.update', subject: userId };
      if (isChanged) await audit(tx, { ...entry, detail: data });
      return tx.user.update({ where: { id: userId }, data, ...WITH_PASSKEY });
    });
    return { status: 200, body: viewUser(row) };
  },
});

const changePassword = operation({
  name: 'changePassword',
  method: 'POST',
  path: `${PATH}/password`,
  summary: 'Change the password',
  description:
    'Ends all other sessions of the person. Failures count as failed sign-ins. A person without a password sets one within 15 minutes of the sign-in.',
  scope: null,
  person: 'signed-in',
  status: 204,
  problems: [
    'invalid-credentials',
    'login-locked',
    'passwords-off',
    'recent-sign-in-required',
    'weak-password',
  ],
  body: PasswordChange,
  async handle({ session, body, exchange, services }) {
    const { db, passwords, config } = services;
    requirePasswords(config);
    const { userId, id: sessionId } = session!;
    const user = await db.user.findUniqueOrThrow({ where: { id: userId } });
    if (user.passwordHash !== null) {
      const counted = await countPasswordBy(services, exchange, { email: user.email, userId });
      const attempt = {
        ...counted,
        userId,
        client: exchange.ip ?? '',
        step: 'password-change',
      } as const;
      const isRight = await verifyWithinLimits(db, attempt, () =>
        passwords.verify(body.current ?? '', user.passwordHash),
      );
      if (!isRight) throw new Problem('invalid-credentials');
    } else await requireRecentSignIn(db, session!);
    if (await isWeak(body.password, user.email)) throw new Problem('weak-password');
    const passwordHash = await passwords.hash(body.password);
    await db.$transaction(async (tx) => {
      await tx.user.update({ where: { id: userId }, data: { passwordHash } });
      await requireOpenSession(tx, sessionId);
      await tx.userSession.deleteMany({ where: { userId, id: { not: sessionId } } });
      await tx.handoff.deleteMany({ where: { userId } });
      await forgetDevices(tx, userId, { but: readDevice(config, exchange) });
      await audit(tx, { actor: `user:${userId}`, accountId: null, action: 'user.password', subject: userId });
    });
    services.sessions.clear();
    return { status: 204 };
  },
});

const listSessions = operation({
  name: 'listSessions',
  method: 'GET',
  path: `${PATH}/sessions`,
  summary: 'List the sessions of the person, newest first',
  scope: null,
  person: 'signed-in',
  status: 200,
  result: ProfileSessionList,
  async handle({ session, services }) {
    const rows = await services.db.userSession.findMany({
      where: {
        userId: session!.userId,
        pending: false,
        expiresAt: { gt: new Date() },
        lastSeenAt: { gt: new Date(Date.now() - IDLE_HOURS * HOUR_MS) },
      },
      orderBy: { id: 'desc' },
    });
    const data = rows.map((row) => ({
      id: toPublicId('session', row.id),
      is_current: row.id === session!.id,
      address: row.address,
      user_agent: row.userAgent,
      created_at: row.createdAt.toISOString(),
      last_seen_at: row.lastSeenAt.toISOString(),
      expires_at: row.expiresAt.toISOString(),
    }));
    return { status: 200, body: { data } };
  },
});

const endSession = operation({
  name: 'endSession',
  method: 'DELETE',
  path: `${PATH}/sessions/{session_id}`,
  summary: 'End a session of the person',
  scope: null,
  person: 'signed-in',
  status: 204,
  async handle({ session, params, services }) {
    const { userId } = session!;
    const where = { id: params['session_id']!, userId };
    await services.db.$transaction(async (tx) => {
      const ended = await tx.userSession.findFirst({ where });
      const { count } = await tx.userSession.deleteMany({ where });
      if (!ended || count === 0) throw new Problem('not-found');
      // The address of the ended session.
      const { address } = ended;
      const entry = { actor: `user:${userId}`, accountId: null, action: 'user.session-end', subject: userId };
      await audit(tx, { ...entry, detail: { address } });
    });
    services.sessions.clear();
    return { status: 204 };
  },
});

export const profileOperations = [updateProfile, changePassword, listSessions, endSession];

import { Problem } from '@gwk/core/problems/problems';
import {
  AccountSearchOut,
  HandoffPerson,
  HandoffSignIn,
  SessionOut,
  SignIn,
} from '../../resources/console/session.js';
import { CodeIn } from '../../resources/console/totp.js';
import { z } from 'zod';
import { audit } from '../../accounts/audit-log.js';
import { operation } from '../../http/operation.js';
import { SessionCookie } from '../../http/session-cookie.js';
import { accountSearch } from '../../accounts/account-view.js';
import type { Passwords } from '../passwords.js';
import { requirePasswords } from '../oidc/passwords-off.js';
import { checkCode } from '../second-factor.js';
import { verifyWithinLimits } from './attempts.js';
import { countPasswordBy } from './devices.js';
import { findHandoffPerson, redeemHandoff } from './handoffs.js';
import {
  findPending,
  finishFirstFactor,
  listAccounts,
  PRIVATE,
  startSession,
  viewSession,
} from './sessions.js';

const PATH = '/console/api/session';

const signIn = operation({
  name: 'signIn',
  method: 'POST',
  path: PATH,
  summary: 'Sign in by e-mail and password',
  description: 'Starts a session and sets its cookie. A session that the request has ends.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['invalid-credentials', 'login-locked', 'mfa-required', 'passwords-off'],
  body: SignIn,
  result: SessionOut,
  async handle({ body, exchange, services }) {
    const { db, passwords, config } = services;
    requirePasswords(config);
    const { email } = body;
    const user = await db.user.findUnique({ where: { email } });
    const userId = user?.id ?? null;
    const counted = await countPasswordBy(services, exchange, { email, userId });
    const attempt = { ...counted, userId, client: exchange.ip ?? '', step: 'password' } as const;
    const isRight = await verifyWithinLimits(db, attempt, () =>
      passwords.verify(body.password, user?.passwordHash ?? null),
    );
    if (!user || !isRight) throw new Problem('invalid-credentials');
    return finishFirstFactor(services, exchange, { user, by: 'password', stale: 'invalid-credentials' });
  },
});

const showHandoff = operation({
  name: 'showHandoff',
  method: 'POST',
  path: `${PATH}/handoff/person`,
  summary: 'Show whom a one-time link signs in',
  description:
    'Does not use the link up. A console with the session of another person asks before the link replaces it.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['handoff-invalid'],
  body: HandoffSignIn,
  result: HandoffPerson,
  async handle({ body, services: { db } }) {
    return { status: 200, body: await findHandoffPerson(db, body.token), headers: PRIVATE };
  },
});

const signInByHandoff = operation({
  name: 'signInByHandoff',
  method: 'POST',
  path: `${PATH}/handoff`,
  summary: 'Sign in by a one-time link',
  description:
    'The token is in the fragment of the link: `/console/handoff#token=...`. The link replaces the password, not the second factor.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['handoff-invalid', 'mfa-required'],
  body: HandoffSignIn,
  result: SessionOut,
  async handle({ body, exchange, services }) {
    const user = await redeemHandoff(services.db, body.token);
    return finishFirstFactor(services, exchange, { user, by: 'link', stale: 'handoff-invalid' });
  },
});

const signInByCode = operation({
  name: 'signInByCode',
  method: 'POST',
  path: `${PATH}/code`,
  summary: 'Complete a sign-in by a code of the second factor',
  description:
    'After `mfa-required`, with the cookie of that answer. Wrong codes are limited as failed sign-ins are, with a count of their own: 10 in 15 minutes, and for codes of the app 20 a day.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['invalid-code', 'mfa-not-pending', 'login-locked'],
  body: CodeIn,
  result: SessionOut,
  async handle({ body, exchange, services }) {
    const { user } = await findPending(services, exchange);
    await checkCode(services, { user, code: body.code, client: exchange.ip ?? '', step: 'code' });
    const proof = { user, by: 'code', stale: 'mfa-not-pending', completes: true } as const;
    return startSession(services, exchange, proof);
  },
});

const getSession = operation({
  name: 'getSession',
  method: 'GET',
  path: PATH,
  summary: 'Show the session',
  description: 'The person, the CSRF token, and the accounts that the person may use.',
  scope: null,
  person: 'signed-in',
  status: 200,
  result: SessionOut,
  async handle({ exchange, services }) {
    const token = new SessionCookie(services.config).read(exchange.headers.cookie)!;
    return { status: 200, body: await viewSession(services, token), headers: PRIVATE };
  },
});

const searchAccounts = operation({
  name: 'searchAccounts',
  method: 'GET',
  path: `${PATH}/accounts`,
  summary: 'Find an account that the person may use',
  description:
    'At most 50, by name. The session lists no more of them. An administrator of the platform without a required second factor finds only the own accounts.',
  scope: null,
  person: 'signed-in',
  status: 200,
  query: z.object({ search: accountSearch() }),
  result: AccountSearchOut,
  async handle({ session, query: { search }, services }) {
    const user = await services.db.user.findUniqueOrThrow({ where: { id: session!.userId } });
    return { status: 200, body: { data: await listAccounts(services, user, search) }, headers: PRIVATE };
  },
});

const signOut = operation({
  name: 'signOut',
  method: 'DELETE',
  path: PATH,
  summary: 'Sign out',
  description: 'Ends the session. Its cookie is worthless within 2 s on every replica.',
  scope: null,
  person: 'signed-in',
  status: 204,
  async handle({ session, services }) {
    const { id, userId } = session!;
    await services.db.$transaction(async (tx) => {
      const { count } = await tx.userSession.deleteMany({ where: { id } });
      if (count === 0) return;
      await audit(tx, { actor: `user:${userId}`, accountId: null, action: 'user.sign-out', subject: userId });
    });
    services.sessions.clear();
    return { status: 204, headers: ['Set-Cookie', new SessionCookie(services.config).clear()] };
  },
});

export const signInOperations = [
  getSession,
  signIn,
  signInByCode,
  showHandoff,
  signInByHandoff,
  searchAccounts,
  signOut,
];

declare module '../../http/services.js' {
  interface Services {
    passwords: Passwords;
  }
}

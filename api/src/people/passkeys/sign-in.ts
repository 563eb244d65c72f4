import { Problem } from '@gwk/core/problems/problems';
import { PasskeyOptions, PasskeyUse } from '../../resources/console/passkey.js';
import { SessionOut } from '../../resources/console/session.js';
import { operation } from '../../http/operation.js';
import { requirePasswords } from '../oidc/passwords-off.js';
import { codeSubject, verifyWithinLimits } from '../sign-in/attempts.js';
import { findPending, PRIVATE, startSession } from '../sign-in/sessions.js';
import { findPasskey, requestAssertion, verifyAssertion } from './assertions.js';
import type { Ceremony } from './challenges.js';

const PATH = '/console/api/session';
/** A challenge of a sign-in belongs to no session. The check of the origin keeps foreign pages out. */
const SIGN_IN: Ceremony = { kind: 'sign-in', sessionId: null };

const startPasskeySignIn = operation({
  name: 'startPasskeySignIn',
  method: 'POST',
  path: `${PATH}/passkey/options`,
  summary: 'Start to sign in by a passkey',
  description: 'Any passkey of the browser may answer, so the request names no person.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['passwords-off'],
  result: PasskeyOptions,
  async handle({ exchange, services }) {
    requirePasswords(services.config);
    const body = await requestAssertion(services, exchange, { ceremony: SIGN_IN });
    return { status: 200, body, headers: PRIVATE };
  },
});

const signInByPasskey = operation({
  name: 'signInByPasskey',
  method: 'POST',
  path: `${PATH}/passkey`,
  summary: 'Sign in by a passkey',
  description:
    'The passkey has verified the person, so it stands for password and second factor. Failures are limited as those of passwords are, counted by passkey and address.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['invalid-credentials', 'login-locked', 'passwords-off'],
  body: PasskeyUse,
  result: SessionOut,
  async handle({ body: { credential }, exchange, services }) {
    requirePasswords(services.config);
    const passkey = await findPasskey(services.db, credential.id);
    const attempt = {
      subject: `passkey:${credential.id}`,
      userId: passkey?.userId ?? null,
      client: exchange.ip ?? '',
      step: 'passkey',
    } as const;
    const isRight = await verifyWithinLimits(services.db, attempt, () =>
      verifyAssertion(services, exchange, { passkey, credential, ceremony: SIGN_IN }),
    );
    if (!passkey || !isRight) {
      const detail = {
        pt: 'A chave de acesso não foi aceita. Tente de novo ou entre de outra forma.',
        en: 'The passkey was not accepted. Try again or sign in another way.',
      };
      throw new Problem('invalid-credentials', { detail });
    }
    const { id: passkeyId, user } = passkey;
    return startSession(services, exchange, { user, by: 'passkey', passkeyId, stale: 'invalid-credentials' });
  },
});

const startPasskeyFactor = operation({
  name: 'startPasskeyFactor',
  method: 'POST',
  path: `${PATH}/second-factor/options`,
  summary: 'Start to complete a sign-in by a passkey',
  description: 'After `mfa-required`, with the cookie of that answer.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['mfa-not-pending', 'mfa-setup-not-started'],
  result: PasskeyOptions,
  async handle({ exchange, services }) {
    const { id: sessionId, userId } = await findPending(services, exchange);
    const passkeys = await services.db.passkey.findMany({ where: { userId } });
    if (passkeys.length === 0) throw new Problem('mfa-setup-not-started');
    const ceremony: Ceremony = { kind: 'second-factor', sessionId };
    const body = await requestAssertion(services, exchange, { ceremony, passkeys });
    return { status: 200, body, headers: PRIVATE };
  },
});

const completeByPasskey = operation({
  name: 'completeByPasskey',
  method: 'POST',
  path: `${PATH}/second-factor`,
  summary: 'Complete a sign-in by a passkey',
  description: 'Instead of a code. Failures count as wrong codes.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['invalid-code', 'mfa-not-pending', 'login-locked'],
  body: PasskeyUse,
  result: SessionOut,
  async handle({ body: { credential }, exchange, services }) {
    const { id: sessionId, user } = await findPending(services, exchange);
    const { id: userId } = user;
    const found = await findPasskey(services.db, credential.id);
    const passkey = found?.userId === userId ? found : null;
    const ceremony: Ceremony = { kind: 'second-factor', sessionId };
    const attempt = {
      subject: codeSubject(userId),
      userId,
      client: exchange.ip ?? '',
      step: 'passkey',
    } as const;
    const isRight = await verifyWithinLimits(services.db, attempt, () =>
      verifyAssertion(services, exchange, { passkey, credential, ceremony }),
    );
    if (!passkey || !isRight) throw new Problem('invalid-code');
    const proof = {
      user,
      by: 'passkey',
      passkeyId: passkey.id,
      stale: 'mfa-not-pending',
      completes: true,
    } as const;
    return startSession(services, exchange, proof);
  },
});

export const passkeySignInOperations = [
  startPasskeySignIn,
  signInByPasskey,
  startPasskeyFactor,
  completeByPasskey,
];

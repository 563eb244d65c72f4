import { Problem } from '@gwk/core/problems/problems';
import { PasswordReset, PasswordResetRequest } from '../../resources/console/password-reset.js';
import { operation } from '../../http/operation.js';
import { requirePasswords } from '../oidc/passwords-off.js';
import { isWeak } from '../weak-passwords.js';
import { countResetRequest } from '../sign-in/attempts.js';
import { findReset, setPassword, type PasswordResets } from './resets.js';

const PATH = '/console/api/password-resets';

const requestPasswordReset = operation({
  name: 'requestPasswordReset',
  method: 'POST',
  path: PATH,
  summary: 'Send a link that sets a new password',
  description:
    'The answer and its time are the same for unknown e-mails. The link is valid once, for 30 minutes; another one replaces it. At most 3 e-mails an hour for a person, and 20 requests an hour for an address. Without an SMTP server: `not-found`; while passwords are off: `passwords-off`.',
  scope: null,
  person: 'anyone',
  status: 204,
  problems: ['not-found', 'passwords-off'],
  body: PasswordResetRequest,
  async handle({ body: { email }, exchange, services: { db, passwordResets, config } }) {
    requirePasswords(config);
    if (!passwordResets)
      throw new Problem('not-found', {
        detail: { pt: 'Este gateway não envia e-mails.', en: 'This gateway sends no e-mails.' },
      });
    const client = exchange.ip ?? '';
    if (await countResetRequest(db, email, client)) passwordResets.start(email, client);
    return { status: 204 };
  },
});

const resetPassword = operation({
  name: 'resetPassword',
  method: 'POST',
  path: `${PATH}/redeem`,
  summary: 'Set a new password by a link',
  description:
    'The token is in the fragment of the link: `/console/password-reset#token=...`. Ends all sessions and links of the person, and a lock of the e-mail. The second factor stays. Sign in afterwards.',
  scope: null,
  person: 'anyone',
  status: 204,
  problems: ['handoff-invalid', 'passwords-off', 'weak-password'],
  body: PasswordReset,
  async handle({ body: { token, password }, services: { db, passwords, sessions, config } }) {
    requirePasswords(config);
    const user = await findReset(db, token);
    if (await isWeak(password, user.email)) throw new Problem('weak-password');
    const passwordHash = await passwords.hash(password);
    await setPassword(db, { token, user, passwordHash });
    sessions.clear();
    return { status: 204 };
  },
});

export const passwordResetOperations = [requestPasswordReset, resetPassword];

declare module '../../http/services.js' {
  interface Services {
    /** Null: no SMTP server is configured. */
    passwordResets: PasswordResets | null;
  }
}
